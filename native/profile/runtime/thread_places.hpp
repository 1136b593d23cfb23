// Places in a table that live threads own, one each.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "profile/runtime/os.hpp"

namespace nearfar::profile {

// A thread keeps its place until it ends. The object is zero at first.
template <std::uint32_t max_places>
class ThreadPlaces {
 public:
  // Returns a place that no other live thread has; `max_places` if there is none.
  std::uint32_t claim(std::uint32_t thread) {
    KeepErrno const keep_errno;
    std::uint32_t place = __atomic_fetch_add(&used_, 1, __ATOMIC_RELAXED);
    if (place < max_places) {
      __atomic_store_n(&owners_[place], thread, __ATOMIC_RELAXED);
      return place;
    }
    __atomic_store_n(&used_, max_places, __ATOMIC_RELAXED);
    // Short-lived threads often end in order of their start, so the next place is usually free.
    for (std::uint32_t attempt = 0; attempt < max_places; ++attempt) {
      place = __atomic_fetch_add(&next_, 1, __ATOMIC_RELAXED) % max_places;
      std::uint32_t before = __atomic_load_n(&owners_[place], __ATOMIC_RELAXED);
      if (before != 0 && has_ended(before) &&
          __atomic_compare_exchange_n(&owners_[place], &before, thread, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
        return place;
      }
    }
    return max_places;
  }
  // Number of places that threads have owned.
  [[nodiscard]] std::uint32_t used() const { return __atomic_load_n(&used_, __ATOMIC_RELAXED); }

 private:
  static bool has_ended(std::uint32_t thread) {
    return syscall(SYS_tgkill, getpid(), static_cast<int>(thread), 0) != 0;
  }

  std::uint32_t owners_[max_places];
  std::uint32_t used_;
  std::uint32_t next_;
};

}  // namespace nearfar::profile
