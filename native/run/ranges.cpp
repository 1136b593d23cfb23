#include "run/ranges.hpp"

#include "base/positions.hpp"
#include "run/lock.hpp"

namespace nearfar::run {

namespace {

Positions positions[NF_RUN_TARGETS];
std::uint32_t positions_lock;

// The profile counts usable sizes, which exceed the requested ones by what its allocator adds. With
// this addition, both sizes round down to the same number of pages.
constexpr std::uint64_t allocator_bytes = 15;

}  // namespace

std::uint64_t take_position(unsigned target, std::uint64_t bytes) {
  if (!is_ranged(target)) return no_position;
  Lock const lock(positions_lock);
  return positions[target].take(bytes + allocator_bytes);
}

void give_position(unsigned target, std::uint64_t position, std::uint64_t bytes) {
  if (position == no_position || !is_ranged(target)) return;
  Lock const lock(positions_lock);
  positions[target].give(position, bytes + allocator_bytes);
}

const nf_run_range& range_at(unsigned target, std::uint64_t position, std::uint64_t& bytes) {
  const nf_run_target& wanted = table->targets[target];
  const nf_run_range* range = table->ranges + wanted.first_range;
  const nf_run_range* const last = range + wanted.range_count - 1;
  while (range != last && range->end <= position) ++range;
  // Bytes beyond the object's size in the profile are treated like its end.
  bytes = range == last ? UINT64_MAX - position : range->end - position;
  return *range;
}

void ranges_in_child() { positions_lock = 0; }

}  // namespace nearfar::run
