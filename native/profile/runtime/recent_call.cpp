#include "profile/runtime/recent_call.hpp"

#include <string.h>

#include "profile/runtime/locks.hpp"
#include "profile/runtime/process_file.hpp"
#include "profile/runtime/shadow.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// A call from the same place of the same thread with the same stack pointer has the same call stack
// if every return address is unchanged.
struct RecentCall {
  std::uint32_t lock;
  std::uint32_t thread;  // another thread's stack may be shorter and must not be read
  std::uint64_t return_address;
  std::uint64_t frame_end;
  std::uint64_t frames[max_frames - 1];
  std::uint32_t above[max_frames - 1];  // distance of each return address from frame_end
  std::uint16_t depth;
  std::uint16_t site;

  bool matches(Call call) const {
    if (call.return_address != return_address || call.frame_end != frame_end) return false;
    if (thread != thread_id()) return false;
    for (unsigned i = 0; i < depth; ++i) {
      if (*reinterpret_cast<const std::uint64_t*>(frame_end + above[i]) != frames[i]) return false;
    }
    return true;
  }
};

// Entries for the inner loops of some threads. Threads share them, because a library that is loaded
// late, by a plugin, gets little thread-local storage.
RecentCall recent_calls[64];

RecentCall& place_of(Call call) {
  // Stacks are aligned to 16 bytes and end at round addresses, so low bits are shifted out.
  const std::uint64_t hash = (call.return_address ^ call.frame_end << 20) * 0x9E3779B97F4A7C15ull;
  return recent_calls[hash >> 58];
}

}  // namespace

std::uint16_t recent_site(Call call) {
  RecentCall& recent = place_of(call);
  Lock const lock(recent.lock, thread_id());
  if (recent.matches(call)) return recent.site;
  return site_none;
}

void store_recent_site(Call call, std::uint16_t site) {
  Call calls[max_frames];
  const unsigned count = fixed_stack(call, calls, max_frames);
  if (count == 0) return;
  RecentCall& recent = place_of(call);
  Lock const lock(recent.lock, thread_id());
  recent.depth = static_cast<std::uint16_t>(count - 1);
  for (unsigned i = 1; i < count; ++i) {
    recent.frames[i - 1] = calls[i].return_address;
    recent.above[i - 1] = static_cast<std::uint32_t>(calls[i].frame_end - 8 - call.frame_end);
  }
  recent.thread = thread_id();
  recent.return_address = call.return_address;
  recent.frame_end = call.frame_end;
  recent.site = site;
}

void reset_recent_calls() { memset(recent_calls, 0, sizeof recent_calls); }

}  // namespace nearfar::profile
