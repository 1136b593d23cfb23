// What the run time keeps per thread, and the guard against entering it twice.
#pragma once

#include <unistd.h>

#include <cstdint>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// An allocation call this thread made before: if it comes again from the same place with the same
// stack pointer, and every return address still lies where it lay, it is the same call stack.
struct RecentCall {
  std::uint64_t return_address;
  std::uint64_t frame_end;
  std::uint64_t frames[max_frames - 1];
  std::uint32_t above[max_frames - 1];  // bytes from frame_end to where each lies
  std::uint16_t depth;
  std::uint16_t site;

  bool matches(Call call) const {
    if (call.return_address != return_address || call.frame_end != frame_end) return false;
    for (unsigned i = 0; i < depth; ++i) {
      if (*reinterpret_cast<const std::uint64_t*>(frame_end + above[i]) != frames[i]) return false;
    }
    return true;
  }
  void remember(Call call, std::uint16_t its_site);
};
// As many places as an inner loop allocates from.
inline constexpr unsigned recent_calls = 4;

struct Thread {
  // Stack address of the call that is inside the run time; 0: none is.
  std::uintptr_t inside;
  std::uint32_t id;  // kernel's; 0 until the thread's first event
  std::uint32_t events;
  RecentCall recent[recent_calls];
};

// Plain data in the static TLS block: no constructor, no destructor, no allocation.
extern __thread Thread this_thread __attribute__((tls_model("initial-exec")));

// Holds while this thread is inside the run time. A signal handler that touches memory meanwhile
// is turned away, unless the call it interrupted is gone: handlers that longjmp leave `inside`
// set to an address below the stack pointer, in the part of the stack that is free again.
class Guard {
 public:
  Guard() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    entered_ = this_thread.inside == 0 || here > this_thread.inside;
    if (entered_) this_thread.inside = here;
  }
  ~Guard() {
    if (entered_) this_thread.inside = 0;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
};

inline std::uint32_t thread_id() {
  return this_thread.id != 0 ? this_thread.id : static_cast<std::uint32_t>(gettid());
}

}  // namespace nearfar::profile
