/* The way in from instrumented code, which expects its registers to be kept: clang knows how. */
#include "profile/abi.h"

void nf_access_slow(const void* address, uint32_t site, uint32_t is_store);

NF_PRESERVE_MOST void __nf_access(const void* address, uint32_t site, uint32_t is_store) {
  nf_access_slow(address, site, is_store);
}
