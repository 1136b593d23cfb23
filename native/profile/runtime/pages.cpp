// Stack distances of whole pages, by SHARDS (Waldspurger et al., FAST 2015). The traced line of
// each page is not enough: a page is touched up to 64 times as often as any of its lines.
#include "profile/runtime/pages.hpp"

#include <string.h>

#include <algorithm>
#include <bit>

#include "base/keep_order.hpp"
#include "base/page_content.hpp"
#include "profile/runtime/locks.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/sites.hpp"
#include "profile/runtime/thread.hpp"
#include "sim/reuse/reuse_stack.hpp"

namespace nearfar::profile {

namespace {

// Pages tracked at the same time: those of 2 GiB. Beyond that, half as many are tracked, and so on.
constexpr std::uint32_t max_pages = 4096;
constexpr std::uint32_t entries = 4 * max_pages;
constexpr std::uint32_t never_stored = UINT32_MAX;

struct PageState {
  std::uint64_t tagged;   // page + 1; 0: free
  std::uint64_t time;     // time of its last touch, in touches
  std::uint32_t longest;  // distance since the last store, in pages
  // While the page's first touch counts for unknown memory: the phase of that touch + 1, and the
  // number of pages it stands for; else 0.
  std::uint16_t ownerless_phase;
  std::uint16_t first_log2;
};

sim::ReuseStack stack;
PageState* tables[2];  // the current one, and the one that follow_fewer fills
unsigned current;
std::uint32_t used_entries;  // of the current table; never too low
bool is_thinning;            // follow_fewer has begun and is not complete
std::uint32_t pages_lock;
std::uint64_t now;
std::uint64_t last_page;
unsigned thinning_log2;
bool looks;

bool followed(std::uint64_t page) {
  return thinning_log2 == 0 || (page * 0xD6E8FEB86659FD93ull) >> (64 - thinning_log2) == 0;
}

PageState& state_of(PageState* table, std::uint64_t page) {
  for (std::uint64_t at = page * 0x9E3779B97F4A7C15ull >> 32;; ++at) {
    PageState& state = table[at % entries];
    if (state.tagged == 0 || state.tagged == page + 1) return state;
  }
}

// The table may fill too: if signal handlers jump out of the runtime, it may keep pages that the
// stack has lost.
bool should_follow_fewer() { return is_thinning || stack.over() || used_entries > entries / 2; }

// If a signal handler jumps out, the next touch repeats this with the same share.
void follow_fewer() {
  if (!is_thinning) {
    is_thinning = true;
    keep_order();
    ++thinning_log2;
  }
  keep_order();
  const PageState* const states = tables[current];
  PageState* const fewer = tables[1 - current];
  memset(fewer, 0, entries * sizeof(PageState));
  std::uint32_t kept = 0;
  for (std::uint32_t at = 0; at < entries; ++at) {
    const std::uint64_t page = states[at].tagged - 1;
    if (states[at].tagged == 0 || !followed(page)) continue;
    state_of(fewer, page) = states[at];
    ++kept;
  }
  keep_order();
  current = 1 - current;
  keep_order();
  used_entries = kept;
  stack.keep_only(followed);
  keep_order();
  is_thinning = false;
}

std::uint16_t owner_of(std::uint64_t address) {
  const std::uint64_t page = address >> 12;
  const std::uint64_t line = page << 12 | runtime.lines.first_in_page(page) << 6;
  const std::uint16_t* granules = runtime.shadow.entry(line);
  bool unknown = false;
  for (unsigned i = 0; i < 4; ++i) {
    if (granules[i] != site_none && granules[i] != site_unknown) return granules[i];
    unknown |= granules[i] == site_unknown;
  }
  return unknown ? std::uint16_t{site_unknown} : site_of_untagged(line);
}

std::uint64_t key_of(std::uint64_t phase, std::uint16_t owner) {
  return phase << 48 | std::uint64_t{owner} << 32;
}

// Attributes the first touch of a page to its owner, in the phase of that touch. In a heap of small
// blocks, a page is touched before the block on its sampled line is allocated.
void give_first_touch(PageState& state, std::uint16_t owner) {
  if (owner == site_unknown) return;
  const std::uint64_t phase = state.ownerless_phase - 1u;
  PageRecord* from = runtime.pages.find(key_of(phase, site_unknown));
  PageRecord* to =
      runtime.pages.find_or_add(key_of(phase, owner), this_thread.id, [](PageRecord&) {});
  if (from == nullptr || to == nullptr) return;
  // First, so that a signal handler's jump cannot make this happen twice.
  state.ownerless_phase = 0;
  keep_order();
  from->first -= 1ull << state.first_log2;
  to->first += 1ull << state.first_log2;
}

// Estimates the distance in pages: each of the `followed_pages` tracked in between represents
// 2^share_log2 pages, and half as many are added for the untracked rest.
std::uint32_t pages_between(std::uint32_t followed_pages) {
  if (followed_pages == 0) return 0;
  const unsigned share_log2 = NF_PAGE_RATE_LOG2 + thinning_log2;
  const std::uint64_t pages = (2ull * followed_pages + 1) << (share_log2 - 1);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(pages, never_stored - 1));
}

void count_reuse_of(PageRecord& record, PageState& state, std::uint32_t distance) {
  const std::uint32_t weight = 1u << thinning_log2;
  record.reuses[page_bucket(distance)] += weight;
  record.times[time_bucket(now - state.time)] += weight;
  if (distance <= state.longest) return;
  record.written[page_bucket(distance)] += static_cast<std::int32_t>(weight);
  record.written[page_bucket(state.longest)] -= static_cast<std::int32_t>(weight);
  state.longest = distance;
}

// Counts a touch. The caller holds the lock.
void count_page(std::uint32_t phase, std::uint64_t address, bool store) {
  const std::uint64_t page = address >> 12;
  if (!followed(page)) return;
  PageState& state = state_of(tables[current], page);
  if (state.ownerless_phase != 0) give_first_touch(state, owner_of(address));
  if (page != last_page || state.tagged == 0) {
    const std::uint16_t owner = owner_of(address);
    PageRecord* record =
        runtime.pages.find_or_add(key_of(phase, owner), this_thread.id, [](PageRecord&) {});
    if (record == nullptr) return;
    last_page = page;
    now += 1ull << thinning_log2;
    ++record->touches;
    const std::uint32_t between = stack.touch(page);
    if (between == sim::ReuseStack::unseen || state.tagged == 0) {
      record->first += 1ull << thinning_log2;
      const bool ownerless = owner == site_unknown;
      if (state.tagged == 0) ++used_entries;
      keep_order();
      state = {page + 1, now, never_stored, static_cast<std::uint16_t>(ownerless ? phase + 1 : 0),
               static_cast<std::uint16_t>(thinning_log2)};
    } else {
      const std::uint32_t distance = pages_between(between);
      count_reuse_of(*record, state, distance);
      if (looks && distance != 0 && std::has_single_bit(record->touches)) {
        const PageContent content =
            estimate_compression(reinterpret_cast<const unsigned char*>(page << 12));
        ++record->looked_at;
        record->compressed_bytes += content.bytes;
        record->compression_work += content.work;
      }
    }
    state.time = now;
  }
  if (store) state.longest = 0;
  while (should_follow_fewer()) follow_fewer();
}

}  // namespace

bool reserve_pages(bool look) {
  void* memory = reserve_hot_memory(sim::ReuseStack::bytes_for(max_pages));
  tables[0] = static_cast<PageState*>(reserve_hot_memory(entries * sizeof(PageState)));
  tables[1] = static_cast<PageState*>(reserve_memory(entries * sizeof(PageState)));
  if (memory == nullptr || tables[0] == nullptr || tables[1] == nullptr) return false;
  current = 0;
  used_entries = 0;
  is_thinning = false;
  stack = sim::ReuseStack(max_pages, memory);
  now = 0;
  last_page = 0;
  thinning_log2 = 0;
  looks = look;
  return true;
}

void continue_pages_in_child() {
  pages_lock = 0;
  // The first touches of these pages are in the parent's file.
  for (std::uint32_t at = 0; at < entries; ++at) tables[current][at].ownerless_phase = 0;
}

void touch_page(std::uint32_t phase, std::uint64_t address, bool store) {
  const PageTouch touch{address, store};
  touch_pages(phase, &touch, 1);
}

void touch_pages(std::uint32_t phase, const PageTouch* touches, unsigned touch_count) {
  // Above rate 64 most pages have no sampled line, so their owner is unknown.
  if (runtime.lines.rate_log2() > sim::SampledLines::usual_rate_log2) return;
  Lock const lock(pages_lock, this_thread.id);
  for (unsigned i = 0; i < touch_count; ++i)
    count_page(phase, touches[i].address, touches[i].store);
}

}  // namespace nearfar::profile
