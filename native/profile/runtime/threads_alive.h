/* Number of threads that are alive, and the greatest number so far. */
#ifndef NEARFAR_PROFILE_THREADS_ALIVE_H
#define NEARFAR_PROFILE_THREADS_ALIVE_H

#include <stdint.h>

static inline void nf_thread_begins(uint32_t* alive, uint32_t* most) {
  const uint32_t now = __atomic_add_fetch(alive, 1, __ATOMIC_RELAXED);
  uint32_t before = __atomic_load_n(most, __ATOMIC_RELAXED);
  while (before < now &&
         !__atomic_compare_exchange_n(most, &before, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

static inline void nf_thread_ends(uint32_t* alive) {
  __atomic_sub_fetch(alive, 1, __ATOMIC_RELAXED);
}

#endif
