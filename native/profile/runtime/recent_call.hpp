// Cache of the sites of recent allocation calls, by call stack.
#pragma once

#include <cstdint>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/stack_walk.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

// A call from the same place of the same thread with the same stack pointer has the same call stack
// if every return address is unchanged.
struct alignas(64) RecentCall {
  std::uint64_t return_address;  // 0: free; written last
  std::uint64_t frame_end;
  std::uint64_t tags;  // Shadow::tags_of the site
  SiteRecord* record;
  std::uint32_t depth;
  // Places of the callers' return addresses, above frame_end, and these. Places from `depth` on
  // have the call's own.
  std::int32_t above[max_frames - 1];
  std::uint64_t frames[max_frames - 1];

  [[nodiscard]] std::uint16_t site() const { return static_cast<std::uint16_t>(tags); }
};
// Entries for the inner loops of a thread.
inline constexpr unsigned recent_calls = 64;

template <typename T>  // RecentCall, perhaps const
T& place_in(T* calls, const Call& call) {
  // Stacks are aligned to 16 bytes and end at round addresses, so low bits are shifted out.
  const std::uint64_t hash = (call.return_address ^ call.frame_end << 20) * 0x9E3779B97F4A7C15ull;
  static_assert(recent_calls == 64 && sizeof(RecentCall) == 128);
  return *reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(calls) + (hash >> 51 & 63u << 7));
}

// The frames up to this one are compared without a loop.
inline constexpr unsigned usual_depth = 4;

[[gnu::always_inline]] inline bool is_same_call(const RecentCall& recent, const Call& call) {
  if (recent.return_address != call.return_address || recent.frame_end != call.frame_end)
    return false;
  const auto changed = [&recent, end = call.frame_end](unsigned i) {
    const std::uint64_t place = end + static_cast<std::int64_t>(recent.above[i]);
    return *reinterpret_cast<const std::uint64_t*>(place) != recent.frames[i];
  };
  // In this order: if an inner frame differs, a shorter stack may end below the next place.
  if (changed(0) || changed(1) || changed(2) || changed(3)) return false;
  static_assert(usual_depth == 4 && max_frames - 1 == 7);
  return recent.depth <= usual_depth || !(changed(4) || changed(5) || changed(6));
}

// Returns the stored site of `call` by this thread, or site_none.
inline std::uint16_t recent_site(Call call) {
  if (this_thread.calls == nullptr) return site_none;
  const RecentCall& recent = place_in(this_thread.calls, call);
  return is_same_call(recent, call) ? recent.site() : std::uint16_t{site_none};
}
void store_recent_site(Call call, std::uint16_t site);

// Updates the thread's `whole_calls`, after its tag has changed.
void update_whole_calls();

// Returns false if address space cannot be reserved.
bool reserve_recent_calls();

}  // namespace nearfar::profile
