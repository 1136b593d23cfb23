// Values stored into the pool that are addresses of memory which is not: they mean nothing after a
// restart.
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
  char name[64];  // the end of a path is what tells files apart
};
constexpr unsigned most_ranges = 512;
Range ranges[most_ranges];
unsigned range_count = 0;
// Reading the system's list takes some 20 us; programs whose numbers look like addresses would do
// it at every store.
constexpr unsigned most_readings = 500;
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
void take_line(const char* line) {
  if (range_count == most_ranges) return;
  Range& one = ranges[range_count];
  one.begin = hexadecimal(line);
  if (*line++ != '-') return;
  one.end = hexadecimal(line);
  unsigned field = 1;
  while (field < 6 && *line != '\0') {
    if (*line == ' ' && line[1] != ' ') ++field;
    ++line;
  }
  while (*line == ' ') ++line;
  const std::size_t bytes = strlen(line);
  const std::size_t cut = bytes < sizeof one.name ? 0 : bytes - (sizeof one.name - 1);
  memcpy(one.name, line + cut, bytes - cut + 1);
  ++range_count;
}

void read_ranges() {
  const int file =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0));
  if (file < 0) return;
  range_count = 0;
  static char text[8192];
  std::size_t held = 0;
  for (;;) {
    const long got = syscall(SYS_read, file, text + held, sizeof text - 1 - held);
    if (got <= 0) break;
    held += static_cast<std::size_t>(got);
    text[held] = '\0';
    char* line = text;
    while (char* const end = strchr(line, '\n')) {
      *end = '\0';
      take_line(line);
      line = end + 1;
    }
    held -= static_cast<std::size_t>(line - text);
    memmove(text, line, held);
    if (held == sizeof text - 1) break;  // no line of maps is that long
  }
  syscall(SYS_close, file);
}

const Range* range_of(std::uint64_t address) {
  for (unsigned i = 0; i < range_count; ++i) {
    if (address >= ranges[i].begin && address < ranges[i].end) return &ranges[i];
  }
  return nullptr;
}

// Mappings of programs lie between 4 GiB and 128 TiB; smaller numbers are mostly numbers.
bool may_be_address(std::uint64_t value) {
  return value >= std::uint64_t{1} << 32 && value < std::uint64_t{1} << 47;
}

}  // namespace

void look_for_pointers(const char* before, const char* line, std::uint64_t offset,
                       const Stack& stack) {
  for (std::uint64_t at = 0; at < NF_CRASH_LINE; at += sizeof(std::uint64_t)) {
    std::uint64_t old = 0;
    std::uint64_t value = 0;
    memcpy(&old, before + at, sizeof old);
    memcpy(&value, line + at, sizeof value);
    if (old == value || !may_be_address(value)) continue;
    if (mapping_of(reinterpret_cast<const void*>(value)) != nullptr) continue;
    const Range* found = range_of(value);
    if (found == nullptr && readings < most_readings) {
      ++readings;
      read_ranges();
      found = range_of(value);
    }
    if (found == nullptr) continue;
    append(NF_CRASH_POINTER, offset + at, value, &stack, found->name,
           static_cast<std::uint32_t>(strlen(found->name)));
  }
}

}  // namespace nearfar::crash
