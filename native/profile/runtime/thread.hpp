// What the run time keeps per thread, and the guard against entering it twice.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace nearfar::profile {

struct CoreCaches;

struct Thread {
  // Stack address of the call that is inside the run time; 0: none is.
  std::uintptr_t inside;
  std::uint32_t id;  // kernel's; 0 until the thread's first event
  std::uint32_t events;
  std::uint32_t tag;  // offset into `strings` of what the program calls its allocations now
  // What a fence would wait for: whether lines were flushed since the last, and whose the last was.
  std::uint16_t flushed;
  std::uint16_t flushed_site;
  CoreCaches* caches;  // of the core it is taken to run on; null until first needed
};

// Plain data in the static TLS block, of which little is left for a library that comes late, with a
// plugin: no constructor, no destructor, no allocation.
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
