// Detects addresses of volatile memory stored into the pool, which are invalid after a restart.
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/hooks_tx.hpp"

namespace nearfar::crash {

namespace {

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
  char name[64];  // last part of the path, which distinguishes files
};
constexpr unsigned max_ranges = 512;
Range ranges[max_ranges];
unsigned range_count = 0;
// Reading the list of mappings takes about 20 us. Without a limit, a program with numbers that look
// like addresses would cause a reading at every store.
constexpr unsigned max_readings = 500;
unsigned readings = 0;

std::uint64_t hexadecimal(const char*& at) {
  std::uint64_t value = 0;
  for (;; ++at) {
    const char c = *at;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<std::uint64_t>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

// "begin-end perms offset device inode   path", see proc(5).
void parse_line(const char* line) {
  if (range_count == max_ranges) return;
  Range& range = ranges[range_count];
  range.begin = hexadecimal(line);
  if (*line++ != '-') return;
  range.end = hexadecimal(line);
  unsigned field = 1;
  while (field < 6 && *line != '\0') {
    if (*line == ' ' && line[1] != ' ') ++field;
    ++line;
  }
  while (*line == ' ') ++line;
  const std::size_t bytes = strlen(line);
  const std::size_t cut = bytes < sizeof range.name ? 0 : bytes - (sizeof range.name - 1);
  memcpy(range.name, line + cut, bytes - cut + 1);
  ++range_count;
}

void read_ranges() {
  const int file =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0));
  if (file < 0) return;
  range_count = 0;
  static char text[8192];
  std::size_t used = 0;
  for (;;) {
    const long received = syscall(SYS_read, file, text + used, sizeof text - 1 - used);
    if (received <= 0) break;
    used += static_cast<std::size_t>(received);
    text[used] = '\0';
    char* line = text;
    while (char* const end = strchr(line, '\n')) {
      *end = '\0';
      parse_line(line);
      line = end + 1;
    }
    used -= static_cast<std::size_t>(line - text);
    memmove(text, line, used);
    if (used == sizeof text - 1) break;  // no line of the file is that long
  }
  syscall(SYS_close, file);
}

const Range* range_of(std::uint64_t address) {
  for (unsigned i = 0; i < range_count; ++i) {
    if (address >= ranges[i].begin && address < ranges[i].end) return &ranges[i];
  }
  return nullptr;
}

// Mappings are between 4 GiB and 128 TiB; smaller values are mostly plain numbers.
bool may_be_address(std::uint64_t value) {
  return value >= std::uint64_t{1} << 32 && value < std::uint64_t{1} << 47;
}

}  // namespace

void record_pointers(const char* before, const char* line, std::uint64_t offset,
                     const Stack& stack) {
  for (std::uint64_t at = 0; at < NF_CRASH_LINE; at += sizeof(std::uint64_t)) {
    std::uint64_t old = 0;
    std::uint64_t value = 0;
    memcpy(&old, before + at, sizeof old);
    memcpy(&value, line + at, sizeof value);
    if (old == value || !may_be_address(value)) continue;
    if (mapping_of(reinterpret_cast<const void*>(value)) != nullptr) continue;
    const Range* range = range_of(value);
    if (range == nullptr && readings < max_readings) {
      ++readings;
      read_ranges();
      range = range_of(value);
    }
    if (range == nullptr) continue;
    append(NF_CRASH_POINTER, offset + at, value, &stack, range->name,
           static_cast<std::uint32_t>(strlen(range->name)));
  }
}

}  // namespace nearfar::crash
