// mmap and related functions: large anonymous mappings are objects too.
#include <errno.h>
#include <string.h>

#include "base/hooks.hpp"
#include "run/lock.hpp"
#include "run/mapped_files.hpp"
#include "run/placement.hpp"
#include "run/ranges.hpp"
#include "run/snapshot_requests.hpp"
#include "run/stack_objects.hpp"
#include "run/state.hpp"

using nearfar::profile::Call;
using namespace nearfar::hooks;
using namespace nearfar::run;

namespace {

// Smaller mappings are seldom data, and each may need a separate mapping in the kernel.
constexpr std::size_t min_data_bytes = 64u << 10;

std::uint32_t mapped_lock;

bool is_data(std::size_t bytes, int protection, int flags) {
  constexpr int other =
      MAP_SHARED | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_GROWSDOWN | MAP_STACK | MAP_HUGETLB;
  return (flags & MAP_ANONYMOUS) != 0 && (flags & other) == 0 && (protection & PROT_WRITE) != 0 &&
         (protection & PROT_EXEC) == 0 && bytes >= min_data_bytes;
}

void record(void* begin, std::size_t bytes, Recognised recognised, std::uint64_t position) {
  Lock const lock(mapped_lock);
  for (nf_run_mapped& entry : state.mapped) {
    if (entry.begin != 0) continue;
    entry = {reinterpret_cast<std::uint64_t>(begin), bytes, recognised.target, recognised.object,
             position};
    __atomic_fetch_add(&state.mapped_count, 1u, __ATOMIC_RELEASE);
    return;
  }
}

void* recognise_mapping(void* begin, std::size_t bytes, int protection, int flags, Call call) {
  if (!active || begin == MAP_FAILED || !is_data(bytes, protection, flags)) {
    return begin;
  }
  const int error = errno;
  const Recognised recognised = recognise(call, bytes, true);
  if (recognised.object != NF_RUN_NO_OBJECT) {
    const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    const std::uint64_t position = take_position(recognised.target, whole);
    if (recognised.target != 0) place_mapping(recognised.target, begin, whole, position);
    record(begin, whole, recognised, position);
    mark_snapshot_due();
  }
  errno = error;
  return begin;
}

// Whether this is a shared mapping of a file that the plan names.
void recognise_file(void* begin, std::size_t bytes, int flags, int file, off_t offset) {
  if (!active || table->file_count == 0 || begin == MAP_FAILED || file < 0) return;
  if ((flags & MAP_ANONYMOUS) != 0 || (flags & MAP_TYPE) == MAP_PRIVATE) return;
  const Recognised recognised = place_mapped_file(begin, bytes, file, offset);
  if (recognised.object == NF_RUN_NO_OBJECT) return;
  const std::size_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  record(begin, whole, recognised, no_position);
  mark_snapshot_due();
}

// Frees the positions of a mapping that is about to be replaced.
void forget_position(const nf_run_mapped& mapped) {
  {
    Lock const lock(mapped_lock);
    for (nf_run_mapped& entry : state.mapped) {
      if (entry.begin == mapped.begin) entry.position = no_position;
    }
  }
  give_position(mapped.target, mapped.position, mapped.bytes);
}

nf_run_mapped entry_of(void* begin) {
  Lock const lock(mapped_lock);
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  for (const nf_run_mapped& entry : state.mapped) {
    if (entry.begin <= address && address < entry.begin + entry.bytes) return entry;
  }
  return {};
}

// Removes [begin, begin+bytes) from the table; returns the previous entry if it contained the whole
// range.
nf_run_mapped remove_range(void* begin, std::size_t bytes) {
  nf_run_mapped covering{};
  if (__atomic_load_n(&state.mapped_count, __ATOMIC_ACQUIRE) == 0) return covering;
  const auto first = reinterpret_cast<std::uint64_t>(begin);
  const std::uint64_t last = first + bytes;
  if (entry_of(begin).begin != 0) request_snapshot_before_free(bytes);
  nf_run_mapped rest{};
  Lock const lock(mapped_lock);
  for (nf_run_mapped& entry : state.mapped) {
    if (entry.begin == 0 || entry.begin + entry.bytes <= first || last <= entry.begin) continue;
    if (entry.begin <= first && last <= entry.begin + entry.bytes) covering = entry;
    if (entry.target != 0) mapping_gone(begin, bytes);
    const std::uint64_t end = entry.begin + entry.bytes;
    const std::uint64_t from = first > entry.begin ? first - entry.begin : 0;
    const std::uint64_t until = (last < end ? last : end) - entry.begin;
    const bool positioned = entry.position != no_position;
    if (positioned) give_position(entry.target, entry.position + from, until - from);
    if (entry.begin < first) {
      const std::uint64_t position = positioned ? entry.position + until : no_position;
      if (last < end) rest = {last, end - last, entry.target, entry.object, position};
      entry.bytes = first - entry.begin;
    } else if (last < end) {
      if (positioned) entry.position += until;
      entry.begin = last;
      entry.bytes = end - last;
    } else {
      entry = {};
      __atomic_fetch_sub(&state.mapped_count, 1u, __ATOMIC_RELEASE);
    }
  }
  if (rest.begin == 0) return covering;
  for (nf_run_mapped& entry : state.mapped) {
    if (entry.begin != 0) continue;
    entry = rest;
    __atomic_fetch_add(&state.mapped_count, 1u, __ATOMIC_RELEASE);
    break;
  }
  return covering;
}

// Copies a mapping that is divided or in a file, because the kernel moves only a single mapping,
// and the following pages of a file belong to other objects.
void* copy_mapping(void* begin, std::size_t bytes, std::size_t new_bytes, int flags, void* wanted,
                   const nf_run_mapped& entry) {
  if ((flags & MREMAP_MAYMOVE) == 0 && new_bytes > bytes) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  if (new_bytes <= bytes && (flags & MREMAP_FIXED) == 0) {
    munmap(static_cast<char*>(begin) + new_bytes, bytes - new_bytes);
    return begin;
  }
  const int place = (flags & MREMAP_FIXED) != 0 ? MAP_FIXED : 0;
  void* new_begin = system_mmap(wanted, new_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | place, -1, 0);
  if (new_begin == MAP_FAILED) return new_begin;
  forget_position(entry);
  const std::uint64_t position = take_position(entry.target, new_bytes);
  place_mapping(entry.target, new_begin, new_bytes, position);
  memcpy(new_begin, begin, bytes < new_bytes ? bytes : new_bytes);
  munmap(begin, bytes);
  record(new_begin, new_bytes,
         {static_cast<std::uint16_t>(entry.object), static_cast<std::uint16_t>(entry.target)},
         position);
  return new_begin;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

NEARFAR_HOOK_MMAP(if ((flags & MAP_FIXED) != 0) remove_range(wanted, bytes);
                  void* const begin = system_mmap(wanted, bytes, protection, flags, file, offset);
                  recognise_file(begin, bytes, flags, file, offset);
                  return recognise_mapping(begin, bytes, protection, flags, NEARFAR_THIS_CALL);)

int munmap(void* begin, std::size_t bytes) noexcept {
  remove_range(begin, (bytes + page_bytes - 1) / page_bytes * page_bytes);
  return system_munmap(begin, bytes);
}

void* mremap(void* begin, std::size_t bytes, std::size_t new_bytes, int flags, ...) noexcept {
  NEARFAR_MREMAP_PLACE(wanted, flags)
  if (__atomic_load_n(&state.mapped_count, __ATOMIC_ACQUIRE) != 0) {
    const nf_run_mapped entry = entry_of(begin);
    if (entry.begin != 0 && is_planned_file(entry.object)) {
      // The kernel moves only a single mapping; without policies it is a single one again.
      leave_mapped_file(begin, bytes);
    } else if (entry.begin != 0 && !is_one_mapping(entry.target)) {
      return copy_mapping(begin, bytes, new_bytes, flags, wanted, entry);
    }
    void* const new_begin = system_mremap(begin, bytes, new_bytes, flags, wanted);
    if (entry.begin != 0 && new_begin != MAP_FAILED) {
      remove_range(begin, bytes);
      // The memory policy moves too, and applies to the new pages.
      record(new_begin, new_bytes,
             {static_cast<std::uint16_t>(entry.object), static_cast<std::uint16_t>(entry.target)},
             no_position);
    }
    return new_begin;
  }
  return system_mremap(begin, bytes, new_bytes, flags, wanted);
}
}
#pragma GCC visibility pop

namespace nearfar::run {
void mappings_in_child() { mapped_lock = 0; }
}  // namespace nearfar::run
