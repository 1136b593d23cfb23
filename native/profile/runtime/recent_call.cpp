#include "profile/runtime/recent_call.hpp"

#include <atomic>

#include "profile/runtime/core_caches.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

void store_recent_site(Call call, std::uint16_t site) {
  Call calls[max_frames];
  const unsigned count = fixed_stack(call, calls, max_frames);
  if (this_thread.calls == nullptr) this_thread.calls = calls_of_core();
  if (count == 0 || this_thread.calls == nullptr) return;
  RecentCall& recent = place_in(this_thread.calls, call);
  // A signal handler that jumps away leaves either a free or a complete entry.
  recent.return_address = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  recent.depth = static_cast<std::uint16_t>(count - 1);
  for (unsigned i = 1; i < count; ++i) {
    recent.frames[i - 1] = calls[i].return_address;
    recent.above[i - 1] = static_cast<std::uint32_t>(calls[i].frame_end - 8 - call.frame_end);
  }
  recent.frame_end = call.frame_end;
  recent.site = site;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  recent.return_address = call.return_address;
}

}  // namespace nearfar::profile
