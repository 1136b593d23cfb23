// Mappings of the pool, and what changed in them.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/recorder.hpp"
#include "crash/schedule.hpp"

namespace nearfar::crash {

void tell_modules();

Mapping mappings[most_mappings];

namespace {

char* shadow = nullptr;
bool mine = false;

struct Loose {
  char* page;
  Stack stack;
};
// More open at once would be told too late; the oldest is then told first.
constexpr unsigned most_loose = 64;
Loose loose[most_loose];
unsigned loose_count = 0;

// Only 8 aligned bytes are sure to reach persistent memory together or not at all (Scargall,
// Programming Persistent Memory, doi:10.1007/978-1-4842-4932-1, chapter 2): a vector
// store, or two that a compiler made one of, may tear between them.
constexpr std::size_t atomic_bytes = 8;
constexpr unsigned most_cut = NF_CRASH_PAGE / NF_CRASH_LINE;
unsigned wide_stores = 0;

// Tells all but the last word that changed in a line, each as a store of its own; every other time
// from the last one down, since any may be the first that arrives.
void tell_words(char* known, const char* line, std::uint64_t offset, const Stack& stack) {
  unsigned left = 0;
  for (std::size_t at = 0; at < NF_CRASH_LINE; at += atomic_bytes) {
    left += memcmp(line + at, known + at, atomic_bytes) != 0 ? 1 : 0;
  }
  if (left < 2) return;
  const bool down = wide_stores++ % 2 != 0;
  // The line is live: what another process stores meanwhile may be a word less to tell.
  for (std::size_t i = 0; left > 1 && i < NF_CRASH_LINE; i += atomic_bytes) {
    const std::size_t at = down ? NF_CRASH_LINE - atomic_bytes - i : i;
    if (memcmp(line + at, known + at, atomic_bytes) == 0) continue;
    memcpy(known + at, line + at, atomic_bytes);
    append(NF_CRASH_STORE, offset, 0, &stack, known, NF_CRASH_LINE);
    left -= 1;
  }
}

int protect(void* begin, std::size_t bytes, int protection) {
  return static_cast<int>(syscall(SYS_mprotect, begin, bytes, protection));
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + NF_CRASH_PAGE - 1) / NF_CRASH_PAGE * NF_CRASH_PAGE;
}

// What the file holds and the shadow does not came by another way than a store into a mapping
// (write, ftruncate, an earlier run): it counts as durable. Holes are not read, which would fill
// them.
void tell_base(int file, std::uint64_t begin, std::uint64_t end) {
  char page[NF_CRASH_PAGE];
  const off_t before = lseek(file, 0, SEEK_CUR);
  std::uint64_t at = begin;
  while (at < end) {
    const off_t data = lseek(file, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0) break;
    off_t hole = lseek(file, data, SEEK_HOLE);
    if (hole < 0) hole = static_cast<off_t>(end);
    at = static_cast<std::uint64_t>(data) / NF_CRASH_PAGE * NF_CRASH_PAGE;
    for (; at < static_cast<std::uint64_t>(hole) && at < end; at += NF_CRASH_PAGE) {
      memset(page, 0, sizeof page);
      // Not by the name that is ours to hook.
      if (syscall(SYS_pread64, file, page, sizeof page, at) <= 0) break;
      if (memcmp(page, shadow + at, sizeof page) == 0) continue;
      memcpy(shadow + at, page, sizeof page);
      append(NF_CRASH_BASE, at, sizeof page, nullptr, page, sizeof page);
    }
    if (at < static_cast<std::uint64_t>(hole)) break;
  }
  if (before >= 0) lseek(file, before, SEEK_SET);
}

// One for all processes that have the pool mapped, those started by exec as well.
bool share_shadow() {
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s" NF_CRASH_SHADOW, getenv(NF_CRASH_VARIABLE));
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return false;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const long sized = syscall(SYS_ftruncate, file, header()->most_pool);
  const long got = syscall(SYS_mmap, nullptr, header()->most_pool, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_NORESERVE, file, 0L);
  syscall(SYS_close, file);
  if (sized != 0 || got == -1) return false;
  shadow = reinterpret_cast<char*>(got);
  return true;
}

bool claim() {
  if (mine) return true;
  if (shadow == nullptr && !share_shadow()) return false;
  const auto self = static_cast<std::uint32_t>(getpid());
  std::uint32_t owner = 0;
  const bool first = __atomic_compare_exchange_n(&header()->owner, &owner, self, false,
                                                 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  if (!first && owner != self) {
    if (syscall(SYS_kill, owner, 0) == 0) {
      __atomic_fetch_add(&header()->others, 1u, __ATOMIC_RELAXED);
    } else {
      __atomic_store_n(&header()->owner, self, __ATOMIC_RELEASE);
    }
  }
  watch_faults();
  mine = true;
  return true;
}

}  // namespace

bool recording() { return mine; }

const Mapping* mapping_of(const void* address) {
  const auto* place = static_cast<const char*>(address);
  for (const Mapping& one : mappings) {
    if (one.begin != nullptr && place >= one.begin && place < one.begin + one.bytes) return &one;
  }
  return nullptr;
}

bool is_pool(int file) {
  const char* path = getenv(NF_CRASH_POOL);
  struct stat pool {};
  struct stat one {};
  return path != nullptr && fstat(file, &one) == 0 && stat(path, &pool) == 0 &&
         one.st_dev == pool.st_dev && one.st_ino == pool.st_ino;
}

void pool_mapped(void* begin, std::size_t bytes, int file, std::uint64_t offset) {
  struct stat status {};
  if (fstat(file, &status) != 0) return;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > header()->most_pool) {
    header()->outside += 1;
    return;
  }
  if (!claim()) return;
  sweep();
  for (Mapping& one : mappings) {
    if (one.begin != nullptr) continue;
    one = {static_cast<char*>(begin), whole_pages(bytes), offset};
    // Beyond the file's end is nothing that can be stored to.
    if (offset + one.bytes > header()->most_pool) one.bytes = header()->most_pool - offset;
    tell_modules();
    append(NF_CRASH_SIZE, size, 0, nullptr, nullptr, 0);
    tell_base(file, 0, size);
    append(NF_CRASH_MAP, offset, one.bytes, nullptr, nullptr, 0);
    protect(begin, one.bytes, PROT_READ);
    return;
  }
  header()->outside += 1;
}

void pool_unmapping(void* begin, std::size_t bytes) {
  auto* const first = static_cast<char*>(begin);
  char* const last = first + whole_pages(bytes);
  bool left = false;
  for (Mapping& one : mappings) {
    if (one.begin == nullptr) continue;
    char* const end = one.begin + one.bytes;
    if (end <= first || last <= one.begin) {
      left = true;
      continue;
    }
    sweep();
    append(NF_CRASH_UNMAP, one.offset, one.bytes, nullptr, nullptr, 0);
    if (one.begin < first) {
      // What is mapped behind a hole in the middle is forgotten: nobody unmaps pools so.
      one.bytes = static_cast<std::size_t>(first - one.begin);
      left = true;
    } else if (last < end) {
      one = {last, static_cast<std::size_t>(end - last),
             one.offset + static_cast<std::uint64_t>(last - one.begin)};
      left = true;
    } else {
      one = {};
    }
  }
  if (!left) let_go();
}

void let_go() {
  if (!mine) return;
  mine = false;
  // A child of the owner's has it, too, and leaves it to the owner.
  auto owner = static_cast<std::uint32_t>(getpid());
  __atomic_compare_exchange_n(&header()->owner, &owner, 0u, false, __ATOMIC_RELEASE,
                              __ATOMIC_RELAXED);
}

unsigned tell_news(const Mapping& mapping, char* begin, char* end, const Stack& stack,
                   bool is_whole) {
  unsigned news = 0;
  // A line that was stored to at once is cut where it may tear only if few are: a large copy tears
  // between its lines.
  unsigned changed = 0;
  for (char* line = begin; !is_whole && line < end; line += NF_CRASH_LINE) {
    const char* const known = shadow + mapping.offset + (line - mapping.begin);
    changed += memcmp(line, known, NF_CRASH_LINE) != 0 ? 1 : 0;
  }
  const bool cuts = !is_whole && changed <= most_cut;
  for (char* line = begin; line < end; line += NF_CRASH_LINE) {
    const std::uint64_t offset = mapping.offset + static_cast<std::uint64_t>(line - mapping.begin);
    char* const known = shadow + offset;
    if (memcmp(line, known, NF_CRASH_LINE) == 0) continue;
    look_for_pointers(known, line, offset, stack);
    if (cuts) tell_words(known, line, offset, stack);
    if (memcmp(line, known, NF_CRASH_LINE) != 0) {
      memcpy(known, line, NF_CRASH_LINE);
      append(NF_CRASH_STORE, offset, 0, &stack, known, NF_CRASH_LINE);
    }
    news += 1;
  }
  return news;
}

void sweep() {
  for (unsigned i = 0; i < loose_count; ++i) {
    char* const page = loose[i].page;
    const Mapping* mapping = mapping_of(page);
    if (mapping == nullptr) continue;
    protect(page, NF_CRASH_PAGE, PROT_READ);
    tell_news(*mapping, page, page + NF_CRASH_PAGE, loose[i].stack);
  }
  loose_count = 0;
}

void open_loosely(char* page, const Stack& stack) {
  if (loose_count == most_loose) sweep();
  protect(page, NF_CRASH_PAGE, PROT_READ | PROT_WRITE);
  loose[loose_count++] = {page, stack};
}

void flushed(const void* address, std::size_t bytes, const Stack& stack, nf_crash_kind kind) {
  may_switch();
  Lock const lock;
  if (!recording() || bytes == 0) return;
  const Mapping* mapping = mapping_of(address);
  if (mapping == nullptr) return;
  sweep();
  const auto from = static_cast<std::uint64_t>(static_cast<const char*>(address) - mapping->begin);
  const std::size_t most = mapping->bytes - from;
  append(kind, mapping->offset + from, bytes < most ? bytes : most, &stack, nullptr, 0);
}

void flushed_all(const Stack& stack) {
  Lock const lock;
  if (!recording()) return;
  sweep();
  append(NF_CRASH_FLUSH, 0, header()->most_pool, &stack, nullptr, 0);
}

void fenced(const Stack& stack) {
  may_switch();
  Lock const lock;
  if (!recording()) return;
  sweep();
  append(NF_CRASH_FENCE, 0, 0, &stack, nullptr, 0);
}

void written(int file, std::uint64_t offset, std::uint64_t bytes, const Stack& stack) {
  Lock const lock;
  if (!recording()) return;
  sweep();
  header()->written += 1;
  const std::uint64_t end = offset + bytes < header()->most_pool ? offset + bytes : 0;
  char page[NF_CRASH_PAGE];
  for (std::uint64_t at = offset / NF_CRASH_PAGE * NF_CRASH_PAGE; at < end; at += NF_CRASH_PAGE) {
    memset(page, 0, sizeof page);
    if (syscall(SYS_pread64, file, page, sizeof page, at) <= 0) break;
    const Mapping whole{page, sizeof page, at};
    tell_news(whole, page, page + sizeof page, stack);
  }
}

void remapped(void* before, void* after, std::size_t bytes) {
  for (Mapping& one : mappings) {
    if (one.begin != before) continue;
    const bool grew = bytes > one.bytes;
    one.begin = static_cast<char*>(after);
    one.bytes = whole_pages(bytes);
    append(NF_CRASH_MAP, one.offset, one.bytes, nullptr, nullptr, 0);
    const char* path = getenv(NF_CRASH_POOL);
    const long file = grew ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat status {};
    if (file >= 0 && fstat(static_cast<int>(file), &status) == 0) {
      append(NF_CRASH_SIZE, static_cast<std::uint64_t>(status.st_size), 0, nullptr, nullptr, 0);
      tell_base(static_cast<int>(file), 0, static_cast<std::uint64_t>(status.st_size));
    }
    if (file >= 0) syscall(SYS_close, file);
    protect(one.begin, one.bytes, PROT_READ);
    return;
  }
}

void name_child();

// Its mappings are protected as its parent's are, and it tells into the same trace.
void in_child() {
  name_child();
  end_schedule();
  if (mine) __atomic_fetch_add(&header()->children, 1u, __ATOMIC_RELAXED);
}

}  // namespace nearfar::crash
