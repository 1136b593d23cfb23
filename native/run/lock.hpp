// A lock for the library's rare paths: it works before libc is set up, and a fork's child may
// reset it.
#pragma once

#include <sched.h>

#include <cstdint>

namespace nearfar::run {

class Lock {
 public:
  explicit Lock(std::uint32_t& word) : word_(word) {
    while (__atomic_exchange_n(&word_, 1u, __ATOMIC_ACQUIRE) != 0) sched_yield();
  }
  ~Lock() { __atomic_store_n(&word_, 0u, __ATOMIC_RELEASE); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::uint32_t& word_;
};

}  // namespace nearfar::run
