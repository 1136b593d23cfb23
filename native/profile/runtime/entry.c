/* Entry from instrumented code, which expects its registers to be preserved; clang supports that.
 */
#include "profile/abi.h"
#include "profile/runtime/pending_access.h"

/* Separate function that saves all registers, so that the fast path needs few. */
__attribute__((noinline)) NF_PRESERVE_MOST static void settle_then_append(const void* address,
                                                                          uint32_t site,
                                                                          uint32_t is_store) {
  if (!nf_settle_accesses()) return;
  const uint32_t place = __atomic_load_n(&nf_pending.count, __ATOMIC_RELAXED);
  /* A signal handler may have filled the list again. */
  if (place < NF_PENDING_ACCESSES)
    nf_append_access(place, (uint64_t)address, site, 0, (uint16_t)is_store);
}

NF_PRESERVE_MOST void __nf_access(const void* address, uint32_t site, uint32_t is_store) {
  const uint32_t place = __atomic_load_n(&nf_pending.count, __ATOMIC_RELAXED);
  if (__builtin_expect(place >= NF_PENDING_ACCESSES, 0)) {
    settle_then_append(address, site, is_store);
    return;
  }
  nf_append_access(place, (uint64_t)address, site, 0, (uint16_t)is_store);
}
