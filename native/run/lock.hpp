// A lock for rare paths: it works before libc is set up, and the child of a fork can reset it.
#pragma once

#include <sched.h>

#include <cstdint>

namespace nearfar::run {

inline bool try_to_acquire(std::uint32_t& word) {
  return __atomic_exchange_n(&word, 1u, __ATOMIC_ACQUIRE) == 0;
}
inline void acquire(std::uint32_t& word) {
  while (!try_to_acquire(word)) sched_yield();
}
inline void release(std::uint32_t& word) { __atomic_store_n(&word, 0u, __ATOMIC_RELEASE); }

class Lock {
 public:
  explicit Lock(std::uint32_t& word) : word_(word) { acquire(word_); }
  ~Lock() { release(word_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::uint32_t& word_;
};

}  // namespace nearfar::run
