// Turns the checker's shared mappings of the image into private ones. A checker may close and
// reopen the pool, but unmapping a private mapping loses its changes. So unmapped ones stay mapped,
// hidden from the checker, and their changes are copied into the next mapping of the same part.
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
#include "crash/checker/calls.hpp"
#include "crash/checker/mappings.hpp"
#include "crash/checker/messages.hpp"
#include "crash/checker/reads.hpp"

namespace nearfar::crash {

namespace {
unsigned not_shared[2];
}
unsigned* may_have_changed = &not_shared[0];
unsigned* never_track = &not_shared[1];

namespace {

constexpr std::size_t page_bytes = 4096;

// libpmemobj maps a pool two or three times while it opens the pool; the oldest hidden mapping is
// dropped.
constexpr unsigned max_maps = 64;
Map maps[max_maps];
unsigned map_count = 0;
bool private_maps = false;

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

// Stores the status of the file.
bool is_image(int file, struct stat& status) {
  static const char* const path = getenv(NF_CRASH_IMAGE);
  struct stat image {};
  return path != nullptr && fstat(file, &status) == 0 && stat(path, &image) == 0 &&
         status.st_dev == image.st_dev && status.st_ino == image.st_ino;
}

bool is_image(int file) {
  struct stat status {};
  return is_image(file, status);
}

// A read-only mapping of the image that stays mapped between checks.
struct Kept {
  char* begin = nullptr;
  std::size_t bytes = 0;
  std::int64_t offset = 0;
  int protection = 0;
  int flags = 0;
  ino_t file = 0;
  bool in_use = false;
};
constexpr unsigned max_kept = 16;
Kept kept[max_kept];
bool keeps_read_only = false;

// Returns a kept mapping, or a free entry for one, or null.
Kept* find_kept(const Kept& wanted) {
  Kept* place = nullptr;
  for (Kept& known : kept) {
    const bool same = known.begin != nullptr && known.bytes == wanted.bytes &&
                      known.offset == wanted.offset && known.protection == wanted.protection &&
                      known.flags == wanted.flags && known.file == wanted.file;
    if (same && !known.in_use) return &known;
    if (known.begin == nullptr || (!known.in_use && known.file != wanted.file)) place = &known;
  }
  return place;
}

void* map_read_only(Kept wanted, int file) {
  Kept* const place = find_kept(wanted);
  if (place != nullptr && place->file == wanted.file && place->begin != nullptr) {
    place->in_use = true;
    return place->begin;
  }
  void* const begin = hooks::system_mmap(nullptr, wanted.bytes, wanted.protection, wanted.flags,
                                         file, wanted.offset);
  if (begin == MAP_FAILED || place == nullptr) return begin;
  if (place->begin != nullptr) hooks::system_munmap(place->begin, place->bytes);
  *place = wanted;
  place->begin = static_cast<char*>(begin);
  place->in_use = true;
  return begin;
}

// Returns whether the mapping is a kept one, which must stay.
bool keep(const char* begin, std::size_t bytes) {
  for (Kept& known : kept) {
    if (!known.in_use || begin >= known.begin + known.bytes || begin + bytes <= known.begin)
      continue;
    known.in_use = false;
    if (known.begin == begin && known.bytes == bytes) return true;
    known = {};  // partly unmapped
  }
  return false;
}

// Forgets kept mappings that are partly replaced, reprotected or moved.
void forget_kept(const void* begin, std::size_t bytes) {
  const auto* const at = static_cast<const char*>(begin);
  for (Kept& known : kept) {
    if (at < known.begin + known.bytes && at + whole_pages(bytes) > known.begin) known = {};
  }
}

void drop(unsigned index) { maps[index] = maps[--map_count]; }

// Linux, Documentation/admin-guide/mm/pagemap.rst: bit 63 present, 62 swapped, 61 file page or
// shared. A page of a private mapping that was written no longer belongs to the file.
bool is_private_page(std::uint64_t entry) {
  return ((entry >> 62) & 3) != 0 && ((entry >> 61) & 1) == 0;
}

// Copies the changes in `old` to the overlapping part of `fresh`.
void copy_changes(const Map& old, const Map& fresh) {
  const std::uint64_t first = old.offset > fresh.offset ? old.offset : fresh.offset;
  const std::uint64_t old_end = old.offset + old.bytes;
  const std::uint64_t fresh_end = fresh.offset + fresh.bytes;
  const std::uint64_t last = old_end < fresh_end ? old_end : fresh_end;
  if (first >= last) return;
  static int pagemap = -1;
  static pid_t owner = 0;
  if (owner != getpid()) {
    // The child of a fork needs its own descriptor.
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
    const ssize_t received = pread(pagemap, entries, want * 8, static_cast<off_t>(index * 8));
    for (std::size_t i = 0; i < want; ++i, at += page_bytes) {
      const bool known = received >= static_cast<ssize_t>((i + 1) * 8);
      if (known && !is_private_page(entries[i])) continue;
      char* const to = fresh.begin + (at - fresh.offset);
      const char* const page = old.begin + (at - old.offset);
      if (memcmp(to, page, page_bytes) != 0) memcpy(to, page, page_bytes);
    }
  }
}

// Moves hidden mappings out of [begin, begin + bytes), which is about to be mapped.
void move_away(char* begin, std::size_t bytes) {
  for (unsigned i = 0; i < map_count; ++i) {
    Map& map = maps[i];
    if (map.begin >= begin + bytes || begin >= map.begin + map.bytes) continue;
    if (map.hidden) give_up_tracking();
    void* moved =
        map.hidden ? hooks::system_mremap(map.begin, map.bytes, map.bytes, MREMAP_MAYMOVE, nullptr)
                   : MAP_FAILED;
    if (map.hidden && moved == map.begin) {
      // mremap may keep the old address, so a new address is reserved first.
      void* place =
          hooks::system_mmap(nullptr, map.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      moved = hooks::system_mremap(map.begin, map.bytes, map.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                                   place);
    }
    if (moved == MAP_FAILED) {
      drop(i--);
    } else {
      map.begin = static_cast<char*>(moved);
    }
  }
}

void add_map(const Map& fresh) {
  if (map_count == max_maps) {
    if (maps[0].hidden) hooks::system_munmap(maps[0].begin, maps[0].bytes);
    memmove(maps, maps + 1, sizeof maps - sizeof maps[0]);
    map_count -= 1;
  }
  maps[map_count++] = fresh;
}

void* map_file(void* wanted, std::size_t bytes, int protection, int flags, int file,
               std::int64_t offset) {
  if ((flags & MAP_FIXED) != 0) forget_kept(wanted, bytes);
  if (private_maps && (flags & MAP_FIXED) != 0)
    move_away(static_cast<char*>(wanted), whole_pages(bytes));
  const bool of_file = private_maps && file >= 0 && (flags & MAP_ANONYMOUS) == 0;
  const bool only_read = of_file && keeps_read_only && !tracks_reads() && wanted == nullptr &&
                         map_count == 0 && (protection & PROT_WRITE) == 0 &&
                         (flags & (MAP_FIXED | MAP_SYNC)) == 0;
  if (struct stat status{}; only_read && is_image(file, status)) {
    const int kept_flags = (flags & ~MAP_TYPE) | MAP_PRIVATE;
    return map_read_only(
        {nullptr, whole_pages(bytes), offset, protection, kept_flags, status.st_ino, false}, file);
  }
  const bool of_image = of_file && (flags & MAP_TYPE) != MAP_PRIVATE && is_image(file);
  if (!of_image) {
    if (of_file && tracks_reads() && is_image(file)) stop_tracking();
    return hooks::system_mmap(wanted, bytes, protection, flags, file, offset);
  }
  if ((flags & MAP_TYPE) == MAP_SHARED_VALIDATE && (flags & MAP_SYNC) != 0) {
    errno = EOPNOTSUPP;  // like a file in memory
    return MAP_FAILED;
  }
  flags = (flags & ~(MAP_TYPE | MAP_SYNC)) | MAP_PRIVATE | MAP_NORESERVE;
  // A private mapping of a write-only file is refused, as a shared one is.
  void* const begin = hooks::system_mmap(wanted, bytes, protection, flags, file, offset);
  if (begin == MAP_FAILED) return begin;
  const Map fresh{static_cast<char*>(begin), whole_pages(bytes), static_cast<std::uint64_t>(offset),
                  protection};
  bool opened = (protection & PROT_WRITE) != 0;
  for (unsigned i = 0; i < map_count; ++i) {
    const Map& old = maps[i];
    if (old.offset >= fresh.offset + fresh.bytes || fresh.offset >= old.offset + old.bytes)
      continue;
    if (!opened) syscall(SYS_mprotect, begin, fresh.bytes, PROT_READ | PROT_WRITE);
    copy_changes(old, fresh);
    if (!opened) syscall(SYS_mprotect, begin, fresh.bytes, protection);
  }
  add_map(fresh);
  cover(fresh);
  return begin;
}

int unmap(char* begin, std::size_t bytes) {
  const std::size_t whole = whole_pages(bytes);
  if (keep(begin, whole)) return 0;
  for (unsigned i = 0; private_maps && i < map_count; ++i) {
    if (maps[i].hidden || maps[i].begin != begin || maps[i].bytes != whole) continue;
    maps[i].hidden = true;
    return 0;
  }
  // Changes in a partly unmapped range are lost.
  for (unsigned i = 0; i < map_count; ++i) {
    Map& map = maps[i];
    if (map.hidden || begin + whole <= map.begin || map.begin + map.bytes <= begin) continue;
    if (begin > map.begin) {
      map.bytes = static_cast<std::size_t>(begin - map.begin);
    } else if (begin + whole < map.begin + map.bytes) {
      const auto removed = static_cast<std::size_t>(begin + whole - map.begin);
      map.begin += removed;
      map.bytes -= removed;
      map.offset += removed;
    } else {
      drop(i--);
    }
  }
  return hooks::system_munmap(begin, bytes);
}

void* remap(char* begin, std::size_t bytes, std::size_t wanted, int flags, void* place) {
  if (map_of(begin) != nullptr) give_up_tracking();
  forget_kept(begin, bytes);
  if (place != nullptr) {
    forget_kept(place, wanted);
    if (private_maps) move_away(static_cast<char*>(place), whole_pages(wanted));
  }
  void* const result = hooks::system_mremap(begin, bytes, wanted, flags, place);
  for (unsigned i = 0; result != MAP_FAILED && i < map_count; ++i) {
    if (maps[i].hidden || maps[i].begin != begin) continue;
    maps[i].begin = static_cast<char*>(result);
    maps[i].bytes = whole_pages(wanted);
  }
  return result;
}

// Whether a kept mapping that begins here waits for reuse by the checker.
bool is_unused(const char* begin) {
  for (const Kept& known : kept) {
    if (known.begin == begin && !known.in_use) return true;
  }
  return false;
}

}  // namespace

const Map* first_map() { return maps; }
const Map* end_of_maps() { return maps + map_count; }

const Map* map_of(const void* address) {
  const auto* const at = static_cast<const char*>(address);
  for (const Map& map : maps) {
    if (&map == end_of_maps()) break;
    if (at >= map.begin && at < map.begin + map.bytes) return &map;
  }
  return nullptr;
}

bool is_mapped(const char* image) {
  if (map_count != 0) return true;
  // Only the kernel lists mappings that are private or were made without libc.
  return is_mapped_elsewhere(image, is_unused);
}

void keep_private(bool wanted) { private_maps = wanted; }
bool keeps_private() { return private_maps; }
void keep_read_only_maps() { keeps_read_only = true; }

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

NEARFAR_HOOK_MMAP(const Unstopped calls;
                  return map_file(wanted, bytes, protection, flags, file, offset);)

int munmap(void* begin, std::size_t bytes) noexcept {
  const Unstopped calls;
  return unmap(static_cast<char*>(begin), bytes);
}

void* mremap(void* begin, std::size_t bytes, std::size_t wanted, int flags, ...) noexcept {
  NEARFAR_MREMAP_PLACE(place, flags)
  const Unstopped calls;
  return remap(static_cast<char*>(begin), bytes, wanted, flags, place);
}

// A kept mapping that becomes writable or unreadable is an ordinary mapping from then on.
int mprotect(void* begin, std::size_t bytes, int protection) noexcept {
  const Unstopped calls;
  forget_kept(begin, bytes);
  open_pages(begin, bytes);
  return static_cast<int>(syscall(SYS_mprotect, begin, bytes, protection));
}

// libpmem locks a pool when it opens it, and a hidden mapping would keep that lock. No other
// program uses the image, so the lock can be ignored.
int flock(int file, int operation) noexcept {
  const Unstopped calls;
  if (keeps_private() && is_image(file)) return 0;
  return static_cast<int>(syscall(SYS_flock, file, operation));
}

// Another program would see the file without this program's changes, and could change the file
// itself.
#define NEARFAR_HOOK_START(result, name, parameters, arguments) \
  result name parameters {                                      \
    *may_have_changed = 1;                                      \
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
