/* Entry from instrumented code, which expects its registers to be preserved. Clang supports that.
 */
#include <sys/single_threaded.h>

#include "profile/abi.h"
#include "profile/runtime/pending_access.h"

/* A separate function that saves all registers, so that the fast path needs few. */
__attribute__((noinline)) NF_PRESERVE_MOST static void append_slowly(const void* address,
                                                                     uint32_t site,
                                                                     uint32_t is_store) {
  nf_append_slowly((uint64_t)address, site, is_store);
}

/* The same for threads that note owners. */
__attribute__((noinline)) NF_PRESERVE_MOST static void append_with_owner(const void* address,
                                                                         uint32_t site,
                                                                         uint32_t is_store) {
  const uint32_t place = __atomic_load_n(&nf_pending.count, __ATOMIC_RELAXED);
  uint16_t owner = 0;
  if (place < NF_PENDING_ACCESSES) owner = nf_owner_at((uint64_t)address);
  if (owner == 0) {
    append_slowly(address, site, is_store);
    return;
  }
  nf_append_access(place, (uint64_t)address, site, owner, (uint16_t)is_store);
}

NF_PRESERVE_MOST void __nf_access(const void* address, uint32_t site, uint32_t is_store) {
  if (nf_repeats_page((uint64_t)address, is_store)) return;
  if (!__libc_single_threaded) {
    append_with_owner(address, site, is_store);
    return;
  }
  const uint32_t place = __atomic_load_n(&nf_pending.count, __ATOMIC_RELAXED);
  if (__builtin_expect(place >= NF_PENDING_ACCESSES, 0)) {
    append_slowly(address, site, is_store);
    return;
  }
  nf_append_access(place, (uint64_t)address, site, 0, (uint16_t)is_store);
}
