// A shared mapping of the image becomes a private one. What a private mapping changed would be lost
// when it is unmapped, and a checker may close and reopen the pool: so an unmapped one stays,
// hidden, and what it changed is put into the next mapping of the same part.
#include "crash/checker/maps.hpp"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hooks.hpp"
#include "crash/checker/messages.hpp"

namespace nearfar::crash {

namespace {
unsigned untold = 0;
}
unsigned* touched = &untold;

namespace {

constexpr std::size_t page_bytes = 4096;

struct Map {
  char* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
  bool hidden = false;  // the checker unmapped it
};
// libpmemobj maps a pool two or three times while it opens it; older ones give way.
constexpr unsigned most_maps = 64;
Map maps[most_maps];
unsigned map_count = 0;
bool on = false;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

bool is_image(int file) {
  static const char* const path = getenv(NF_CRASH_IMAGE);
  struct stat image {};
  struct stat one {};
  return path != nullptr && fstat(file, &one) == 0 && stat(path, &image) == 0 &&
         one.st_dev == image.st_dev && one.st_ino == image.st_ino;
}

void drop(unsigned index) { maps[index] = maps[--map_count]; }

// Linux, Documentation/admin-guide/mm/pagemap.rst: bit 63 present, 62 swapped, 61 of a file or
// shared. A page of a private mapping that was stored to is not the file's any more.
bool is_own(std::uint64_t entry) { return ((entry >> 62) & 3) != 0 && ((entry >> 61) & 1) == 0; }

// Puts what `old` changed into `fresh`, where they overlap.
void carry(const Map& old, const Map& fresh) {
  const std::uint64_t first = old.offset > fresh.offset ? old.offset : fresh.offset;
  const std::uint64_t old_end = old.offset + old.bytes;
  const std::uint64_t fresh_end = fresh.offset + fresh.bytes;
  const std::uint64_t last = old_end < fresh_end ? old_end : fresh_end;
  if (first >= last) return;
  static int pagemap = -1;
  static pid_t owner = 0;
  if (owner != getpid()) {
    // A fork's is another one.
    if (pagemap >= 0) close(pagemap);
    pagemap =
        static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    owner = getpid();
  }
  constexpr std::size_t batch = 512;
  std::uint64_t entries[batch];
  for (std::uint64_t at = first; at < last;) {
    const char* from = old.begin + (at - old.offset);
    const std::size_t left = (last - at) / page_bytes;
    const std::size_t want = left < batch ? left : batch;
    const auto index = reinterpret_cast<std::uint64_t>(from) / page_bytes;
    const ssize_t got = pread(pagemap, entries, want * 8, static_cast<off_t>(index * 8));
    for (std::size_t i = 0; i < want; ++i, at += page_bytes) {
      const bool known = got >= static_cast<ssize_t>((i + 1) * 8);
      if (known && !is_own(entries[i])) continue;
      char* const to = fresh.begin + (at - fresh.offset);
      const char* const page = old.begin + (at - old.offset);
      if (memcmp(to, page, page_bytes) != 0) memcpy(to, page, page_bytes);
    }
  }
}

// Makes room below [begin, begin + bytes), which is about to be mapped over.
void move_away(char* begin, std::size_t bytes) {
  for (unsigned i = 0; i < map_count; ++i) {
    Map& one = maps[i];
    if (one.begin >= begin + bytes || begin >= one.begin + one.bytes) continue;
    void* moved = one.hidden ? mremap(one.begin, one.bytes, one.bytes, MREMAP_MAYMOVE) : MAP_FAILED;
    if (one.hidden && moved == one.begin) {
      // It may move, and did not have to: a place of its own first.
      void* place =
          hooks::system_mmap(nullptr, one.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      moved = mremap(one.begin, one.bytes, one.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    }
    if (moved == MAP_FAILED) {
      drop(i--);
    } else {
      one.begin = static_cast<char*>(moved);
    }
  }
}

void remember(const Map& fresh) {
  if (map_count == most_maps) {
    if (maps[0].hidden) hooks::system_munmap(maps[0].begin, maps[0].bytes);
    memmove(maps, maps + 1, sizeof maps - sizeof maps[0]);
    map_count -= 1;
  }
  maps[map_count++] = fresh;
}

void* mapped(void* wanted, std::size_t bytes, int protection, int flags, int file,
             std::int64_t offset) {
  if (on && (flags & MAP_FIXED) != 0) move_away(static_cast<char*>(wanted), whole_pages(bytes));
  const bool ours = on && file >= 0 && (flags & MAP_ANONYMOUS) == 0 &&
                    (flags & MAP_TYPE) != MAP_PRIVATE && is_image(file);
  if (!ours) return hooks::system_mmap(wanted, bytes, protection, flags, file, offset);
  if ((flags & MAP_TYPE) == MAP_SHARED_VALIDATE && (flags & MAP_SYNC) != 0) {
    errno = EOPNOTSUPP;  // as a file in memory answers
    return MAP_FAILED;
  }
  flags = (flags & ~(MAP_TYPE | MAP_SYNC)) | MAP_PRIVATE | MAP_NORESERVE;
  // A private mapping of a file opened for writing only is refused as a shared one is.
  void* const made = hooks::system_mmap(wanted, bytes, protection, flags, file, offset);
  if (made == MAP_FAILED) return made;
  const Map fresh{static_cast<char*>(made), whole_pages(bytes), static_cast<std::uint64_t>(offset)};
  bool opened = (protection & PROT_WRITE) != 0;
  for (unsigned i = 0; i < map_count; ++i) {
    const Map& old = maps[i];
    if (old.offset >= fresh.offset + fresh.bytes || fresh.offset >= old.offset + old.bytes)
      continue;
    if (!opened) syscall(SYS_mprotect, made, fresh.bytes, PROT_READ | PROT_WRITE);
    carry(old, fresh);
    if (!opened) syscall(SYS_mprotect, made, fresh.bytes, protection);
  }
  remember(fresh);
  return made;
}

int unmapped(char* begin, std::size_t bytes) {
  const std::size_t whole = whole_pages(bytes);
  for (unsigned i = 0; on && i < map_count; ++i) {
    if (maps[i].hidden || maps[i].begin != begin || maps[i].bytes != whole) continue;
    maps[i].hidden = true;
    return 0;
  }
  // Of a part of one: what it changed there is lost.
  for (unsigned i = 0; i < map_count; ++i) {
    Map& one = maps[i];
    if (one.hidden || begin + whole <= one.begin || one.begin + one.bytes <= begin) continue;
    if (begin > one.begin) {
      one.bytes = static_cast<std::size_t>(begin - one.begin);
    } else if (begin + whole < one.begin + one.bytes) {
      const auto gone = static_cast<std::size_t>(begin + whole - one.begin);
      one = {one.begin + gone, one.bytes - gone, one.offset + gone, false};
    } else {
      drop(i--);
    }
  }
  return hooks::system_munmap(begin, bytes);
}

}  // namespace

void keep_private(bool wanted) { on = wanted; }
bool keeps_private() { return on; }

void forget_maps() {
  for (unsigned i = map_count; i-- > 0;) {
    if (!maps[i].hidden) continue;
    hooks::system_munmap(maps[i].begin, maps[i].bytes);
    drop(i);
  }
}

}  // namespace nearfar::crash

using namespace nearfar::crash;

#pragma GCC visibility push(default)
extern "C" {

NEARFAR_HOOK_MMAP(return mapped(wanted, bytes, protection, flags, file, offset);)

int munmap(void* begin, std::size_t bytes) noexcept {
  return unmapped(static_cast<char*>(begin), bytes);
}

// A mapping that stays keeps its file's lock, and libpmem locks a pool that it opens. Nobody else
// has the image.
int flock(int file, int operation) noexcept {
  if (keeps_private() && is_image(file)) return 0;
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

// Other programs see the file, not what this one changed in its memory, and what they change is
// the file's.
#define NEARFAR_HOOK_START(result, name, parameters, arguments) \
  result name parameters {                                      \
    *touched = 1;                                               \
    NEARFAR_NEXT(name);                                         \
    return real arguments;                                      \
  }
NEARFAR_HOOK_START(pid_t, fork, () noexcept, ())
NEARFAR_HOOK_START(int, posix_spawn,
                   (pid_t * child, const char* path, const posix_spawn_file_actions_t* actions,
                    const posix_spawnattr_t* attributes, char* const words[],
                    char* const variables[]),
                   (child, path, actions, attributes, words, variables))
NEARFAR_HOOK_START(int, posix_spawnp,
                   (pid_t * child, const char* path, const posix_spawn_file_actions_t* actions,
                    const posix_spawnattr_t* attributes, char* const words[],
                    char* const variables[]),
                   (child, path, actions, attributes, words, variables))
NEARFAR_HOOK_START(int, system, (const char* command), (command))
NEARFAR_HOOK_START(FILE*, popen, (const char* command, const char* mode), (command, mode))
NEARFAR_HOOK_START(int, execve,
                   (const char* path, char* const words[], char* const variables[]) noexcept,
                   (path, words, variables))
}
#pragma GCC visibility pop
