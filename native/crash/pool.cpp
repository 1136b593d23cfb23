// Mappings of the pool, and changes in them.
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

void record_modules();

Mapping mappings[max_mappings];

namespace {

char* shadow = nullptr;
bool owns_pool = false;

struct OpenPage {
  char* page;
  Stack stack;
  StoreKind kind;
};
// With more open pages, changes would be recorded too late.
constexpr unsigned max_open_pages = 64;
OpenPage open_pages[max_open_pages];
unsigned open_page_count = 0;

// Only 8 aligned bytes reach persistent memory atomically (Scargall, Programming Persistent Memory,
// doi:10.1007/978-1-4842-4932-1, chapter 2): a vector store, or two stores that a compiler merged,
// may tear between them.
constexpr std::size_t atomic_bytes = 8;
constexpr unsigned max_torn_lines = NF_CRASH_PAGE / NF_CRASH_LINE;
unsigned wide_stores = 0;

void append_store(std::uint64_t offset, const Stack& stack, const char* line, StoreKind kind) {
  append(NF_CRASH_STORE, offset, 0, &stack, line, NF_CRASH_LINE, kind.is_locked ? 1 : 0);
}

// Records each changed word of a line except the last as a separate store; every second time in
// descending order, because any word may become durable first.
void record_torn_words(char* known, const char* line, std::uint64_t offset, const Stack& stack,
                       StoreKind kind) {
  unsigned remaining = 0;
  for (std::size_t at = 0; at < NF_CRASH_LINE; at += atomic_bytes) {
    remaining += memcmp(line + at, known + at, atomic_bytes) != 0 ? 1 : 0;
  }
  if (remaining < 2) return;
  const bool descending = wide_stores++ % 2 != 0;
  // Another process may store to the line at the same time, which leaves fewer words to record.
  for (std::size_t i = 0; remaining > 1 && i < NF_CRASH_LINE; i += atomic_bytes) {
    const std::size_t at = descending ? NF_CRASH_LINE - atomic_bytes - i : i;
    if (memcmp(line + at, known + at, atomic_bytes) == 0) continue;
    memcpy(known + at, line + at, atomic_bytes);
    append_store(offset, stack, known, kind);
    remaining -= 1;
  }
}

int protect(void* begin, std::size_t bytes, int protection) {
  return static_cast<int>(syscall(SYS_mprotect, begin, bytes, protection));
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + NF_CRASH_PAGE - 1) / NF_CRASH_PAGE * NF_CRASH_PAGE;
}

// Data in the file but not in the shadow was not stored into a mapping; it comes from write,
// ftruncate or an earlier run, and counts as durable. Holes are skipped, because reading would
// allocate them.
void record_base(int file, std::uint64_t begin, std::uint64_t end) {
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
      // Bypasses our own hook.
      if (syscall(SYS_pread64, file, page, sizeof page, at) <= 0) break;
      if (memcmp(page, shadow + at, sizeof page) == 0) continue;
      memcpy(shadow + at, page, sizeof page);
      append(NF_CRASH_BASE, at, sizeof page, nullptr, page, sizeof page);
    }
    if (at < static_cast<std::uint64_t>(hole)) break;
  }
  if (before >= 0) lseek(file, before, SEEK_SET);
}

// All processes that map the pool share one shadow, including those started by exec.
bool share_shadow() {
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof path, "%s" NF_CRASH_SHADOW, getenv(NF_CRASH_VARIABLE));
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return false;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const long truncated = syscall(SYS_ftruncate, file, header()->max_pool_bytes);
  const long mapped = syscall(SYS_mmap, nullptr, header()->max_pool_bytes, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE, file, 0L);
  syscall(SYS_close, file);
  if (truncated != 0 || mapped == -1) return false;
  shadow = reinterpret_cast<char*>(mapped);
  return true;
}

void map_writable(Mapping& mapping, int file) {
  const long mapped = syscall(SYS_mmap, nullptr, mapping.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                              file, static_cast<long>(mapping.offset));
  mapping.writable = mapped == -1 ? nullptr : reinterpret_cast<char*>(mapped);
  mapping.in_file = 0;
}

void unmap_writable(Mapping& mapping, std::size_t bytes) {
  if (mapping.writable != nullptr) syscall(SYS_munmap, mapping.writable, bytes);
  mapping.writable = nullptr;
}

bool claim() {
  if (owns_pool) return true;
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
  install_fault_handlers();
  owns_pool = true;
  return true;
}

}  // namespace

bool recording() { return owns_pool; }

const Mapping* mapping_of(const void* address) {
  const auto* place = static_cast<const char*>(address);
  for (const Mapping& mapping : mappings) {
    if (mapping.begin != nullptr && place >= mapping.begin && place < mapping.begin + mapping.bytes)
      return &mapping;
  }
  return nullptr;
}

char* writable_at(const char* address, std::size_t bytes) {
  for (Mapping& mapping : mappings) {
    const auto at = static_cast<std::size_t>(address - mapping.begin);
    if (mapping.begin == nullptr || address < mapping.begin || at >= mapping.bytes) continue;
    const std::size_t end = at + bytes;
    if (mapping.writable == nullptr || end > mapping.bytes) return nullptr;
    if (end > mapping.in_file) {
      struct stat status {};
      const char* const path = getenv(NF_CRASH_POOL);
      const bool known = path != nullptr && stat(path, &status) == 0;
      const auto size = known ? static_cast<std::uint64_t>(status.st_size) : 0;
      mapping.in_file = size > mapping.offset ? size - mapping.offset : 0;
    }
    // Beyond the end of the file, the program itself gets the SIGBUS.
    return end > mapping.in_file ? nullptr : mapping.writable + at;
  }
  return nullptr;
}

bool is_pool(int file) {
  const char* path = getenv(NF_CRASH_POOL);
  struct stat pool {};
  struct stat status {};
  return path != nullptr && fstat(file, &status) == 0 && stat(path, &pool) == 0 &&
         status.st_dev == pool.st_dev && status.st_ino == pool.st_ino;
}

void pool_mapped(void* begin, std::size_t bytes, int file, std::uint64_t offset) {
  struct stat status {};
  if (fstat(file, &status) != 0) return;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > header()->max_pool_bytes) {
    header()->outside += 1;
    return;
  }
  if (!claim()) return;
  record_pending();
  for (Mapping& mapping : mappings) {
    if (mapping.begin != nullptr) continue;
    mapping = {static_cast<char*>(begin), whole_pages(bytes), offset, nullptr, 0};
    // Beyond the end of the file, nothing can be stored.
    if (offset + mapping.bytes > header()->max_pool_bytes)
      mapping.bytes = header()->max_pool_bytes - offset;
    map_writable(mapping, file);
    record_modules();
    append(NF_CRASH_SIZE, size, 0, nullptr, nullptr, 0);
    record_base(file, 0, size);
    append(NF_CRASH_MAP, offset, mapping.bytes, nullptr, nullptr, 0);
    protect(begin, mapping.bytes, PROT_READ);
    return;
  }
  header()->outside += 1;
}

void pool_unmapping(void* begin, std::size_t bytes) {
  auto* const first = static_cast<char*>(begin);
  char* const last = first + whole_pages(bytes);
  bool remaining = false;
  for (Mapping& mapping : mappings) {
    if (mapping.begin == nullptr) continue;
    char* const end = mapping.begin + mapping.bytes;
    if (end <= first || last <= mapping.begin) {
      remaining = true;
      continue;
    }
    record_pending();
    append(NF_CRASH_UNMAP, mapping.offset, mapping.bytes, nullptr, nullptr, 0);
    if (mapping.begin < first) {
      // A mapping behind the hole is forgotten, because programs do not unmap a part in the middle
      // of a pool.
      const auto left = static_cast<std::size_t>(first - mapping.begin);
      if (mapping.writable != nullptr)
        syscall(SYS_munmap, mapping.writable + left, mapping.bytes - left);
      mapping.bytes = left;
      remaining = true;
    } else if (last < end) {
      const auto removed = static_cast<std::size_t>(last - mapping.begin);
      char* const writable = mapping.writable;
      unmap_writable(mapping, removed);
      mapping = {last, static_cast<std::size_t>(end - last), mapping.offset + removed,
                 writable == nullptr ? nullptr : writable + removed};
      remaining = true;
    } else {
      unmap_writable(mapping, mapping.bytes);
      mapping = {};
    }
  }
  if (!remaining) release_pool();
}

void release_pool() {
  if (!owns_pool) return;
  owns_pool = false;
  // A child of the owning process leaves the pool to the owner.
  auto owner = static_cast<std::uint32_t>(getpid());
  __atomic_compare_exchange_n(&header()->owner, &owner, 0u, false, __ATOMIC_RELEASE,
                              __ATOMIC_RELAXED);
}

unsigned record_changes(const Mapping& mapping, char* begin, char* end, const Stack& stack,
                        StoreKind kind) {
  unsigned recorded = 0;
  // Lines are split into words only if few lines changed: a large copy is torn between its lines.
  unsigned changed = 0;
  for (char* line = begin; !kind.is_whole && line < end; line += NF_CRASH_LINE) {
    const char* const known = shadow + mapping.offset + (line - mapping.begin);
    changed += memcmp(line, known, NF_CRASH_LINE) != 0 ? 1 : 0;
  }
  const bool splits_lines = !kind.is_whole && changed <= max_torn_lines;
  for (char* line = begin; line < end; line += NF_CRASH_LINE) {
    const std::uint64_t offset = mapping.offset + static_cast<std::uint64_t>(line - mapping.begin);
    char* const known = shadow + offset;
    if (memcmp(line, known, NF_CRASH_LINE) == 0) continue;
    record_pointers(known, line, offset, stack);
    if (splits_lines) record_torn_words(known, line, offset, stack, kind);
    if (memcmp(line, known, NF_CRASH_LINE) != 0) {
      memcpy(known, line, NF_CRASH_LINE);
      append_store(offset, stack, known, kind);
    }
    recorded += 1;
  }
  return recorded;
}

void record_pending() {
  for (unsigned i = 0; i < open_page_count; ++i) {
    char* const page = open_pages[i].page;
    const Mapping* mapping = mapping_of(page);
    if (mapping == nullptr) continue;
    protect(page, NF_CRASH_PAGE, PROT_READ);
    record_changes(*mapping, page, page + NF_CRASH_PAGE, open_pages[i].stack, open_pages[i].kind);
  }
  open_page_count = 0;
}

void open_until_next_event(char* page, const Stack& stack, StoreKind kind) {
  if (open_page_count == max_open_pages) record_pending();
  protect(page, NF_CRASH_PAGE, PROT_READ | PROT_WRITE);
  open_pages[open_page_count++] = {page, stack, kind};
}

Step step_at(nf_crash_step kind, const void* address, std::size_t bytes) {
  Lock const lock;
  const Mapping* mapping = recording() && bytes != 0 ? mapping_of(address) : nullptr;
  if (mapping == nullptr) return {};
  const auto begin = mapping->offset +
                     static_cast<std::uint64_t>(static_cast<const char*>(address) - mapping->begin);
  const std::uint64_t first = begin / NF_CRASH_LINE;
  return {kind, first, (begin + bytes - 1) / NF_CRASH_LINE + 1 - first};
}

void record_flush(const void* address, std::size_t bytes, const Stack& stack, nf_crash_kind kind) {
  may_switch(step_at(NF_CRASH_STEP_FLUSH, address, bytes));
  Lock const lock;
  if (!recording() || bytes == 0) return;
  const Mapping* mapping = mapping_of(address);
  if (mapping == nullptr) return;
  record_pending();
  const auto from = static_cast<std::uint64_t>(static_cast<const char*>(address) - mapping->begin);
  const std::size_t max_bytes = mapping->bytes - from;
  append(kind, mapping->offset + from, bytes < max_bytes ? bytes : max_bytes, &stack, nullptr, 0);
}

void record_flush_all(const Stack& stack) {
  Lock const lock;
  if (!recording()) return;
  record_pending();
  append(NF_CRASH_FLUSH, 0, header()->max_pool_bytes, &stack, nullptr, 0);
}

void record_fence(const Stack& stack) {
  may_switch({NF_CRASH_STEP_FENCE, 0, 1});
  Lock const lock;
  if (!recording()) return;
  record_pending();
  append(NF_CRASH_FENCE, 0, 0, &stack, nullptr, 0);
}

void record_line_fence(const void* line, const Stack& stack) {
  Lock const lock;
  const Mapping* mapping = recording() ? mapping_of(line) : nullptr;
  if (mapping == nullptr) return;
  const auto from = static_cast<std::uint64_t>(static_cast<const char*>(line) - mapping->begin);
  append(NF_CRASH_FENCE, mapping->offset + from, NF_CRASH_LINE, &stack, nullptr, 0);
}

void record_file_write(int file, std::uint64_t offset, std::uint64_t bytes, const Stack& stack) {
  Lock const lock;
  if (!recording()) return;
  record_pending();
  header()->written += 1;
  const std::uint64_t end = offset + bytes < header()->max_pool_bytes ? offset + bytes : 0;
  char page[NF_CRASH_PAGE];
  for (std::uint64_t at = offset / NF_CRASH_PAGE * NF_CRASH_PAGE; at < end; at += NF_CRASH_PAGE) {
    memset(page, 0, sizeof page);
    if (syscall(SYS_pread64, file, page, sizeof page, at) <= 0) break;
    const Mapping whole{page, sizeof page, at, nullptr, 0};
    record_changes(whole, page, page + sizeof page, stack);
  }
}

void remapped(void* before, void* after, std::size_t bytes) {
  for (Mapping& mapping : mappings) {
    if (mapping.begin != before) continue;
    const bool grew = bytes > mapping.bytes;
    unmap_writable(mapping, mapping.bytes);
    mapping.begin = static_cast<char*>(after);
    mapping.bytes = whole_pages(bytes);
    append(NF_CRASH_MAP, mapping.offset, mapping.bytes, nullptr, nullptr, 0);
    const char* path = getenv(NF_CRASH_POOL);
    const long file = grew ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    struct stat status {};
    if (file >= 0) map_writable(mapping, static_cast<int>(file));
    if (file >= 0 && fstat(static_cast<int>(file), &status) == 0) {
      append(NF_CRASH_SIZE, static_cast<std::uint64_t>(status.st_size), 0, nullptr, nullptr, 0);
      record_base(static_cast<int>(file), 0, static_cast<std::uint64_t>(status.st_size));
    }
    if (file >= 0) syscall(SYS_close, file);
    protect(mapping.begin, mapping.bytes, PROT_READ);
    return;
  }
}

void reset_in_child();

// A child's mappings are protected like its parent's, and it writes to the same trace.
void in_child() {
  reset_in_child();
  end_schedule();
  if (owns_pool) __atomic_fetch_add(&header()->children, 1u, __ATOMIC_RELAXED);
}

}  // namespace nearfar::crash
