// The calling thread on one CPU for a while.
#pragma once

#include <sched.h>

#include <vector>

#include "base/os.hpp"

namespace nearfar::measure {

// Where the thread may run is as before once this is destroyed.
class Pinned {
 public:
  explicit Pinned(unsigned cpu) {
    if (sched_getaffinity(0, sizeof(cpu_set_t) * before_.size(), before_.data()) < 0) {
      os::fail(errno, "ask where a thread may run");
    }
    os::pin_thread(cpu);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  // It fails only where all those CPUs are gone; then the kernel has decided already.
  ~Pinned() { sched_setaffinity(0, sizeof(cpu_set_t) * before_.size(), before_.data()); }

 private:
  // 16,384 CPUs: twice what Linux can be configured for.
  std::vector<cpu_set_t> before_ = std::vector<cpu_set_t>(16);
};

}  // namespace nearfar::measure
