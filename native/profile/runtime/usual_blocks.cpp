#include "profile/runtime/usual_blocks.hpp"

#include "base/keep_order.hpp"
#include "profile/runtime/access.hpp"
#include "profile/runtime/live.hpp"
#include "profile/runtime/locks.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/runtime/recent_call.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/sites.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// Whether a block is in at most two pages, and not mapped separately.
[[gnu::always_inline]] inline bool is_usual_block(std::uint64_t address, std::uint64_t size,
                                                  std::uint64_t head) {
  static_assert(always_sampled == 8192);
  return (address & 4095) + size <= 8192 && (head & mapped_separately) == 0;
}
[[gnu::always_inline]] inline std::uint64_t usual_size(std::uint64_t head) {
  return (head & ~7ull) - 8;
}

// The rest of a report: the header's line, if it is sampled, and what happens at some events only.
template <bool of_header>
[[gnu::noinline]] void* end_allocated(void* block, std::int64_t total_bytes, std::uint16_t site) {
  {
    Guard const guard;
    if (guard) {
      update_live_total(total_bytes);
      sample_live_sometimes();
    }
  }
  if (of_header) {
    access_line(reinterpret_cast<std::uint64_t>(block) - header_bytes, in_malloc, true, site);
  }
  return block;
}

// The owners of listed accesses are noted before a block's memory changes its owner.
[[gnu::noinline]] void* reported_after_owners(void* block, Call call) {
  nf_keep_owners();
  return reported(block, call);
}

// Calls of other functions are in tail position, so that registers need not be saved.
template <bool is_alone>
[[gnu::always_inline]] inline void* report_usual(void* block, const Call& call) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  const RecentCall* const calls = this_thread.whole_calls;
  if (calls == nullptr) return report_any_allocation(block, call);
  const std::uint64_t head = header_of(block);
  const std::uint64_t size = usual_size(head);
  // The header of a page's first block is in the page before.
  if (!is_usual_block(address, size, head) || (address & 4095) == 0)
    return report_any_allocation(block, call);
  if (nf_pending.owned < nf_pending.count) return reported_after_owners(block, call);
  const RecentCall& recent = place_in(calls, call);
  // Read first: a signal handler may replace the entry after the comparison.
  const std::uint64_t tags = recent.tags;
  SiteRecord* const record = recent.record;
  keep_order();
  if (!is_same_call(recent, call)) return report_any_allocation(block, call);
  const sim::SampledLines::Cover cover = sim::SampledLines::cover(address, size);
  const Weight weight = weight_of(cover);
  const auto bytes = static_cast<std::int64_t>(weight.bytes);
  runtime.shadow.tag(cover, tags, is_alone);
  add(record->allocations, weight.allocations, is_alone);
  add(record->allocated_bytes, weight.bytes, is_alone);
  const std::int64_t live = add(record->live_bytes, bytes, is_alone);
  if (live > record->peak_bytes) record->peak_bytes = live;
  const std::int64_t total = add(runtime.header->live_bytes, bytes, is_alone);
  if (static_cast<std::uint64_t>(cover.from_line - 8) < 64) [[unlikely]]
    return end_allocated<true>(block, total, static_cast<std::uint16_t>(tags));
  if (total > runtime.header->peak_bytes || --this_thread.events_left <= 0) [[unlikely]]
    return end_allocated<false>(block, total, site_none);
  return block;
}

[[gnu::noinline]] void* reported_beside_threads(void* block, Call call) {
  return report_usual<false>(block, call);
}

[[gnu::noinline]] void free_any(void* block) {
  report_any_free(block);
  real.free(block);
}

template <bool is_alone>
[[gnu::always_inline]] inline void free_usual(void* block, std::uint64_t head) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  const std::uint64_t size = usual_size(head);
  if (!is_usual_block(address, size, head)) return free_any(block);
  const sim::SampledLines::Cover cover = sim::SampledLines::cover(address, size);
  const std::uint16_t site = runtime.shadow.first_tag(cover);
  if (site < first_free_site) return free_any(block);
  // Without sampled bytes, the site may be another block's: nothing is subtracted from it.
  const auto freed = -static_cast<std::int64_t>(weight_of(cover).bytes);
  add(runtime.sites[site].live_bytes, freed, is_alone);
  add(runtime.header->live_bytes, freed, is_alone);
  real.free(block);
}

[[gnu::noinline]] void free_beside_threads(void* block, std::uint64_t head) {
  free_usual<false>(block, head);
}

}  // namespace

void* reported(void* block, Call call) {
  if (block == nullptr) return block;
  return alone() ? report_usual<true>(block, call) : reported_beside_threads(block, call);
}

void report_and_free(void* block, std::uint64_t head) {
  if (alone()) {
    free_usual<true>(block, head);
  } else {
    free_beside_threads(block, head);
  }
}

}  // namespace nearfar::profile
