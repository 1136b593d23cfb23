// Pins the calling thread to one CPU for a scope.
#pragma once

#include <sched.h>

#include <vector>

#include "base/os.hpp"

namespace nearfar::measure {

// Restores the thread's affinity at the end.
class Pinned {
 public:
  explicit Pinned(unsigned cpu) {
    if (sched_getaffinity(0, sizeof(cpu_set_t) * previous_.size(), previous_.data()) < 0) {
      os::fail(errno, "read a thread's affinity");
    }
    os::pin_thread(cpu);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  // Restoring fails only if none of those CPUs exists any more; the kernel has then moved the
  // thread.
  ~Pinned() { sched_setaffinity(0, sizeof(cpu_set_t) * previous_.size(), previous_.data()); }

 private:
  // 16,384 CPUs, twice Linux's configurable maximum.
  std::vector<cpu_set_t> previous_ = std::vector<cpu_set_t>(16);
};

}  // namespace nearfar::measure
