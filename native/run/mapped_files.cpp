#include "run/mapped_files.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "run/placement.hpp"
#include "run/ranges.hpp"
#include "run/state.hpp"

namespace nearfar::run {

namespace {

// linux/mempolicy.h
constexpr int mpol_default = 0;
constexpr int mpol_preferred = 1;
constexpr unsigned mpol_mf_move = 2;

// Returns the row of the plan's file with this name; -1 if there is none.
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

// The kernel keeps to a mapping's policy for pages in memory alone: those of other file systems are
// in the page cache, which ignores it, or on a device.
bool has_policy(int file) {
  struct statfs status {};
  if (fstatfs(file, &status) != 0) return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == HUGETLBFS_MAGIC;
}

// Moves the pages that the file has already: a policy is of new pages.
void move_present(std::uint64_t begin, std::uint64_t bytes, int node) {
  unsigned long nodes[16] = {};
  constexpr unsigned bits = 8 * sizeof(unsigned long);
  if (node < 0 || static_cast<unsigned>(node) >= 16 * bits) return;
  nodes[static_cast<unsigned>(node) / bits] = 1ul << (static_cast<unsigned>(node) % bits);
  syscall(SYS_mbind, begin, bytes, mpol_preferred, nodes, 16 * bits, mpol_mf_move);
}

// Brings the file's data, not its holes, into the page table: only pages that are there move.
void touch_data(std::uint64_t begin, std::uint64_t bytes, int file, off_t offset) {
  // Opened once more: SEEK_DATA moves a position that the program's threads and processes share.
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const int own = open(link, O_RDONLY | O_CLOEXEC);
  if (own < 0) return;
  const auto end = offset + static_cast<off_t>(bytes);
  for (off_t at = offset; at < end;) {
    const off_t data = lseek(own, at, SEEK_DATA);
    if (data < 0 || data >= end) break;
    off_t hole = lseek(own, data, SEEK_HOLE);
    if (hole < 0 || hole > end) hole = end;
    madvise(reinterpret_cast<void*>(begin + static_cast<std::uint64_t>(data - offset)),
            static_cast<std::size_t>(hole - data), MADV_POPULATE_READ);
    at = hole;
  }
  close(own);
}

void move_data(std::uint64_t begin, std::uint64_t bytes, off_t offset, unsigned target) {
  for (std::uint64_t done = 0; done < bytes;) {
    std::uint64_t size = bytes;
    const auto position = static_cast<std::uint64_t>(offset) + done;
    const std::uint32_t memory =
        is_ranged(target) ? memory_at(target, position, size) : table->targets[target].memory[0];
    if (size > bytes - done) size = bytes - done;
    if (table->memories[memory].kind == NF_RUN_NODE) {
      move_present(begin + done, size, table->memories[memory].node);
    }
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
      touch_data(start, whole, file, offset);
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
