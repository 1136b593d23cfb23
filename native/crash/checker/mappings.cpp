#include "crash/checker/mappings.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

namespace nearfar::crash {

namespace {

// Reads /proc/self/maps; returns false if it does not fit.
bool read_mappings(char* text, std::size_t capacity) {
  const int file =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
  std::size_t bytes = 0;
  ssize_t received = file < 0 ? 0 : 1;
  while (received > 0 && bytes + 1 < capacity) {
    received = read(file, text + bytes, capacity - 1 - bytes);
    bytes += received > 0 ? static_cast<std::size_t>(received) : 0;
  }
  if (file >= 0) syscall(SYS_close, file);
  text[bytes] = '\0';
  return bytes != 0 && bytes + 1 < capacity;
}

// Calls visit(begin, file) for each mapping; `file` is the text of its device and inode.
template <typename Visit>
void for_each_mapping(const char* text, Visit visit) {
  const std::string_view all = text;
  for (std::size_t line = 0; line < all.size(); line = all.find('\n', line) + 1) {
    std::size_t device = line;  // field 4 of proc(5)
    for (int field = 1; field < 4; ++field) device = all.find(' ', device) + 1;
    const std::size_t end = all.find(' ', all.find(' ', device) + 1);
    visit(reinterpret_cast<const char*>(strtoul(text + line, nullptr, 16)),
          all.substr(device, end - device));
  }
}

}  // namespace

bool is_mapped_elsewhere(const char* begin, bool (*is_unused)(const char* begin)) {
  static char text[1 << 16];
  if (!read_mappings(text, sizeof text)) return true;
  std::string_view file;
  for_each_mapping(text, [&](const char* at, std::string_view mapped_file) {
    if (at == begin) file = mapped_file;
  });
  bool is_elsewhere = file.empty();
  for_each_mapping(text, [&](const char* at, std::string_view mapped_file) {
    is_elsewhere = is_elsewhere || (mapped_file == file && at != begin && !is_unused(at));
  });
  return is_elsewhere;
}

}  // namespace nearfar::crash
