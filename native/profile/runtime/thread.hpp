// Per-thread data of the runtime, and the guard against re-entry.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdint>

namespace nearfar::profile {

struct CoreCaches;
struct RecentCall;

struct Thread {
  // Stack address of the call that is inside the runtime now; 0: none.
  std::uintptr_t inside;
  std::uint32_t id;          // the kernel's ID; 0 until the thread's first event
  std::int32_t events_left;  // until the next one that may sample live bytes (live.hpp)
  std::uint32_t tag;         // offset into `strings` of the current tag
  // Whether lines were flushed since the last fence, and the site of the last one.
  std::uint16_t flushed;
  std::uint16_t flushed_site;
  CoreCaches* caches;  // caches of the thread's assumed core; null until first needed
  RecentCall* calls;   // the thread's recent allocation calls; null until first needed
  // The same if the sites of blocks are whole (not split by sizes, no tag is set), else null.
  RecentCall* whole_calls;
};

// Plain data in the static TLS block, which is small for a library that is loaded late, by a
// plugin: no constructor, no destructor, no allocation.
extern __thread Thread this_thread __attribute__((tls_model("initial-exec")));

// Whether the call at `inside` has ended where the stack pointer is `here`: above it, on its stack.
// A handler on an alternate stack, which may lie above too, has only interrupted it.
[[gnu::noinline]] inline bool has_left(std::uintptr_t inside, std::uintptr_t here) {
  stack_t alternate{};
  sigaltstack(nullptr, &alternate);
  const auto begin = reinterpret_cast<std::uintptr_t>(alternate.ss_sp);
  const auto is_alternate = [&](std::uintptr_t at) { return at - begin < alternate.ss_size; };
  // A jump out of a handler that has called the runtime itself may also go down.
  return is_alternate(inside) == is_alternate(here) ? here >= inside : is_alternate(inside);
}

// Held while this thread is inside the runtime. Meanwhile, memory accesses of a signal handler are
// rejected. A longjmp out of the handler ends this (hooks_jump.cpp). Any other way out (an
// exception, setcontext) leaves `inside` set until the program has returned that far. Out of an
// alternate stack above the thread's own it stays set, and the thread is not counted any more. The
// kernel hides a stack with SS_AUTODISARM from its handler, which then counts as the thread's own.
class Guard {
 public:
  Guard() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const std::uintptr_t inside = this_thread.inside;
    entered_ = inside == 0 || (here > inside && has_left(inside, here));
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
