/* Entry from instrumented code, which expects its registers to be preserved; clang supports that.
 */
#include <sys/single_threaded.h>

#include "profile/abi.h"
#include "profile/runtime/recent_access.h"

void nf_access_slow(const void* address, uint32_t site, uint32_t is_store);

/* Separate function that saves all registers, so that the fast path needs few. */
__attribute__((noinline)) NF_PRESERVE_MOST static void enter(const void* address, uint32_t site,
                                                             uint32_t is_store) {
  nf_access_slow(address, site, is_store);
}

NF_PRESERVE_MOST void __nf_access(const void* address, uint32_t site, uint32_t is_store) {
  const uint64_t granule = (uint64_t)address >> 4;
  const struct nf_recent_access* recent = nf_recent_place(granule, site);
  if (recent->granule == granule && recent->site == site) {
    const uint64_t word = __atomic_load_n(recent->way, __ATOMIC_RELAXED);
    /* A store to a clean line makes it dirty, which the fast path cannot do. */
    if ((word | 1) == recent->word && (word & 1) >= is_store &&
        __atomic_load_n(recent->tag, __ATOMIC_RELAXED) == recent->owner &&
        nf_current_phase() == recent->phase) {
      if (__libc_single_threaded)
        ++*recent->accesses;
      else
        __atomic_fetch_add(recent->accesses, 1, __ATOMIC_RELAXED);
      return;
    }
  }
  if (nf_recent_page >> 1 == granule >> 8 && (nf_recent_page & 1) >= is_store &&
      !nf_sampled((uint64_t)address, nf_line_mask))
    return;
  enter(address, site, is_store);
}
