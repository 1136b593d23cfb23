#include "run/mapped_files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "run/memories.hpp"
#include "run/placement.hpp"
#include "run/ranges.hpp"
#include "run/state.hpp"

namespace nearfar::run {

namespace {

// linux/mempolicy.h
constexpr int mpol_default = 0;

// Returns the index of the plan's file with this name; -1 if there is none.
int planned_file(int file) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return -1;
  path[length] = '\0';
  const char* slash = strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (unsigned i = 0; i < table->file_count; ++i) {
    if (strcmp(table->files[i].name, name) == 0) return static_cast<int>(i);
  }
  return -1;
}

// The kernel applies a mapping's policy only if the file system keeps its pages in memory alone.
// Pages of other file systems are in the page cache, which ignores the policy, or on a device.
bool has_policy(int file) {
  struct statfs status {};
  if (fstatfs(file, &status) != 0) return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == HUGETLBFS_MAGIC;
}

// Loads the file's data, but not its holes, into the page table, because only pages in it can be
// moved.
void touch_data(std::uint64_t begin, std::uint64_t bytes, int file) {
  // SEEK_DATA would move a file position that threads and processes of the program share. A second
  // descriptor is not possible: closing it would release all locks (fcntl) of the process on the
  // file.
  struct statfs system {};
  if (fstatfs(file, &system) != 0) return;
  if (system.f_type == HUGETLBFS_MAGIC) {  // its mappings reserve all their pages
    madvise(reinterpret_cast<void*>(begin), bytes, MADV_POPULATE_READ);
    return;
  }
  struct stat status {};
  if (fstat(file, &status) != 0 || status.st_blocks == 0) return;
  // For a process that neither owns nor may write the file, mincore reports all its pages as
  // present.
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (status.st_uid != geteuid() && faccessat(AT_FDCWD, link, W_OK, AT_EACCESS) != 0) return;
  unsigned char present[4096];
  std::uint64_t run = 0;  // number of bytes up to `done` that were present
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t rest = (bytes - done) / page_bytes;
    const std::uint64_t pages = rest < sizeof present ? rest : sizeof present;
    if (mincore(reinterpret_cast<void*>(begin + done), pages * page_bytes, present) != 0) return;
    for (std::uint64_t page = 0; page < pages; ++page) {
      done += page_bytes;
      const bool is_present = (present[page] & 1) != 0;
      if (is_present) run += page_bytes;
      if (run == 0 || (is_present && done < bytes)) continue;
      const std::uint64_t end = is_present ? done : done - page_bytes;
      madvise(reinterpret_cast<void*>(begin + end - run), run, MADV_POPULATE_READ);
      run = 0;
    }
  }
}

// Moves the pages that the file already has, because a policy applies to new pages only.
void move_data(std::uint64_t begin, std::uint64_t bytes, off_t offset, unsigned target) {
  const nf_run_range whole{UINT64_MAX, table->targets[target].memory[0], 0};
  for (std::uint64_t done = 0; done < bytes;) {
    std::uint64_t size = bytes;
    const auto position = static_cast<std::uint64_t>(offset) + done;
    const nf_run_range& range = is_ranged(target) ? range_at(target, position, size) : whole;
    if (size > bytes - done) size = bytes - done;
    move_to_memory(begin + done, size, range.memory, policy_of(range));
    done += size;
  }
}

}  // namespace

Recognised place_mapped_file(void* begin, std::size_t bytes, int file, off_t offset) {
  constexpr Recognised none{NF_RUN_NO_OBJECT, 0};
  const int error = errno;
  const int row = planned_file(file);
  Recognised recognised = none;
  if (row >= 0) {
    const nf_run_file& planned = table->files[row];
    if (has_policy(file)) {
      const std::uint64_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
      place_mapping(planned.target, begin, whole, static_cast<std::uint64_t>(offset));
      const auto start = reinterpret_cast<std::uint64_t>(begin);
      touch_data(start, whole, file);
      move_data(start, whole, offset, planned.target);
      recognised = {planned.object, planned.target};
    } else {
      __atomic_fetch_or(&state.files_refused, 1u << row, __ATOMIC_RELAXED);
    }
  }
  errno = error;
  return recognised;
}

bool is_planned_file(std::uint32_t object) {
  for (unsigned i = 0; i < table->file_count; ++i) {
    if (table->files[i].object == object) return true;
  }
  return false;
}

void leave_mapped_file(void* begin, std::size_t bytes) {
  mapping_gone(begin, bytes);
  syscall(SYS_mbind, begin, bytes, mpol_default, nullptr, 0ul, 0u);
}

}  // namespace nearfar::run
