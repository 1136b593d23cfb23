#include "run/extents.hpp"

#include <sys/mman.h>

#include "run/lock.hpp"
#include "run/memories.hpp"
#include "run/ranges.hpp"

namespace nearfar::run {

namespace {

std::uint32_t extents_lock;

// Returns a new row, or an empty row if the table is full; null if there is none.
nf_run_extent* free_row() {
  const std::uint32_t count = state.extent_count;
  if (count < NF_RUN_EXTENTS) {
    // The verb may read the row before it is filled, and skips empty rows.
    state.extents[count] = {};
    __atomic_store_n(&state.extent_count, count + 1, __ATOMIC_RELEASE);
    return &state.extents[count];
  }
  for (nf_run_extent& row : state.extents) {
    if (row.bytes == 0) return &row;
  }
  ++state.extents_lost;
  return nullptr;
}

// Writes `bytes` last, so that a fork's child and the verb see the row either empty or complete.
void fill(nf_run_extent& row, const nf_run_extent& extent) {
  row.begin = extent.begin;
  row.target = extent.target;
  row.memory = extent.memory;
  row.position = extent.position;
  __atomic_store_n(&row.bytes, extent.bytes, __ATOMIC_RELEASE);
}

}  // namespace

void record_extent(const nf_run_extent& extent) {
  Lock const lock(extents_lock);
  const std::uint32_t count = state.extent_count;
  if (count != 0) {
    nf_run_extent& last = state.extents[count - 1];
    if (last.begin + last.bytes == extent.begin && last.target == extent.target &&
        last.memory == extent.memory && advanced(last.position, last.bytes) == extent.position) {
      last.bytes += extent.bytes;
      return;
    }
  }
  if (nf_run_extent* row = free_row(); row != nullptr) fill(*row, extent);
}

void remove_extent(std::uint64_t begin, std::uint64_t bytes) {
  Lock const lock(extents_lock);
  const std::uint64_t end = begin + bytes;
  const std::uint32_t count = state.extent_count;
  for (std::uint32_t i = 0; i < count; ++i) {
    nf_run_extent& extent = state.extents[i];
    const std::uint64_t extent_end = extent.begin + extent.bytes;
    if (extent.bytes == 0 || extent_end <= begin || end <= extent.begin) continue;
    const std::uint64_t first = begin > extent.begin ? begin : extent.begin;
    const std::uint64_t last = end < extent_end ? end : extent_end;
    const std::uint32_t memory = extent.memory;
    const nf_run_extent rest{last, extent_end - last, extent.target, memory,
                             advanced(extent.position, last - extent.begin)};
    if (table != nullptr) {
      // Also frees the file's blocks, because the file exists until the program ends.
      if (is_file(memory)) madvise(reinterpret_cast<void*>(first), last - first, MADV_REMOVE);
      return_bytes(table->memories[memory], last - first);
    }
    __atomic_store_n(&extent.bytes, first - extent.begin, __ATOMIC_RELEASE);
    if (last == extent_end) continue;
    if (extent.bytes == 0) {
      fill(extent, rest);
    } else if (nf_run_extent* row = free_row(); row != nullptr) {
      fill(*row, rest);
    }
  }
  // Programs map and unmap all the time: empty rows at the end become free again.
  std::uint32_t left = state.extent_count;
  while (left != 0 && state.extents[left - 1].bytes == 0) --left;
  __atomic_store_n(&state.extent_count, left, __ATOMIC_RELEASE);
}

void extents_in_child() { extents_lock = 0; }

}  // namespace nearfar::run
