#include "profile/runtime/recent_call.hpp"

#include <string.h>

#include "base/keep_order.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"
#include "profile/runtime/thread_places.hpp"

namespace nearfar::profile {
namespace {

// If there are more threads at the same time, the last ones walk their stacks at every call.
constexpr std::uint32_t max_threads = 4096;

ThreadPlaces<max_threads> places;
// Entries of each place; then those of threads without a place, which remain free.
RecentCall* memory = nullptr;

RecentCall* calls_at(std::uint32_t place) { return memory + std::uint64_t{place} * recent_calls; }

[[gnu::noinline]] RecentCall* claim_calls() {
  const std::uint32_t place = places.claim(thread_id());
  RecentCall* const calls = calls_at(place);
  // A thread that has ended may have had the same stack.
  if (place < max_threads) memset(static_cast<void*>(calls), 0, recent_calls * sizeof(RecentCall));
  return calls;
}

}  // namespace

bool reserve_recent_calls() {
  constexpr std::uint64_t entries = std::uint64_t{max_threads + 1} * recent_calls;
  memory = static_cast<RecentCall*>(reserve_memory(entries * sizeof(RecentCall)));
  return memory != nullptr;
}

void update_whole_calls() {
  const bool whole =
      runtime.fast_bytes != 0 && this_thread.tag == 0 && runtime.control->split_sizes == 0;
  this_thread.whole_calls = whole ? this_thread.calls : nullptr;
}

void store_recent_site(Call call, std::uint16_t site) {
  if (this_thread.calls == nullptr) {
    this_thread.calls = claim_calls();
    update_whole_calls();
  }
  if (this_thread.calls == calls_at(max_threads)) return;
  Call calls[max_frames];
  const unsigned count = fixed_stack(call, calls, max_frames);
  if (count == 0) return;
  RecentCall& recent = place_in(this_thread.calls, call);
  // A signal handler that jumps away leaves either a free or a complete entry.
  recent.return_address = 0;
  keep_order();
  recent.depth = count - 1;
  for (unsigned i = 1; i < max_frames; ++i) {
    const Call& caller = calls[i < count ? i : 0];
    recent.frames[i - 1] = caller.return_address;
    recent.above[i - 1] = static_cast<std::int32_t>(caller.frame_end - 8 - call.frame_end);
  }
  recent.frame_end = call.frame_end;
  recent.tags = Shadow::tags_of(site);
  recent.record = &runtime.sites[site];
  keep_order();
  recent.return_address = call.return_address;
}

}  // namespace nearfar::profile
