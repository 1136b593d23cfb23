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
  std::uint16_t depth;
  std::uint16_t site;
  std::uint32_t above[max_frames - 1];  // distance of each return address from frame_end
  std::uint64_t frames[max_frames - 1];
};
// Entries for the inner loops of a thread.
inline constexpr unsigned recent_calls = 64;

inline RecentCall& place_in(RecentCall* calls, Call call) {
  // Stacks are aligned to 16 bytes and end at round addresses, so low bits are shifted out.
  const std::uint64_t hash = (call.return_address ^ call.frame_end << 20) * 0x9E3779B97F4A7C15ull;
  static_assert(recent_calls == 1u << (64 - 58));
  return calls[hash >> 58];
}

// Returns the stored site of `call` by this thread, or site_none.
inline std::uint16_t recent_site(Call call) {
  if (this_thread.calls == nullptr) return site_none;
  const RecentCall& recent = place_in(this_thread.calls, call);
  if (recent.return_address != call.return_address || recent.frame_end != call.frame_end)
    return site_none;
  for (unsigned i = 0; i < recent.depth; ++i) {
    const std::uint64_t place = call.frame_end + recent.above[i];
    if (*reinterpret_cast<const std::uint64_t*>(place) != recent.frames[i]) return site_none;
  }
  return recent.site;
}
void store_recent_site(Call call, std::uint16_t site);

// Returns false if address space cannot be reserved.
bool reserve_recent_calls();

}  // namespace nearfar::profile
