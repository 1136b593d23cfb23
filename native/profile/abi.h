/* What instrumented code and the run-time library agree on. C, so that both sides can read it.
 *
 * The pass tests every access inline. Exactly one 64-byte line of every 4 KiB page is *sampled*
 * (rate 64): the line whose number within the page equals a hash of the page's number. Only
 * accesses to sampled lines leave the fast path. That one sampled line per page makes the
 * run time's tables small: what a page's sampled line belongs to is 8 bytes per page.
 *
 *   x = (((address >> 12) * NF_HASH_MULTIPLIER) >> NF_HASH_SHIFT) ^ address
 *   sampled(address) = (x & NF_FILTER_MASK(rate_log2)) == 0
 *
 * NF_FILTER_MASK selects rate_log2 bits from bit 6 up. rate_log2 < 6 samples 2^(6-rate_log2)
 * lines of every page, rate_log2 = 0 all of them; rate_log2 > 6 samples one line in every
 * 2^(rate_log2-6) pages on average, since the higher bits then compare page bits with the hash.
 */
#ifndef NEARFAR_PROFILE_ABI_H
#define NEARFAR_PROFILE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NF_ABI_VERSION 1u

/* An odd 31-bit constant (2^31 / golden ratio): the product's middle bits mix all page bits. */
#define NF_HASH_MULTIPLIER 0x4F1BBCDDull
/* Brings product bits 26.. to bit 6.., where the line number within the page begins. */
#define NF_HASH_SHIFT 20
#define NF_FILTER_MASK(rate_log2) (((1ull << (rate_log2)) - 1) << 6)

static inline int nf_sampled(uint64_t address, uint64_t mask) {
  return (((((address >> 12) * NF_HASH_MULTIPLIER) >> NF_HASH_SHIFT) ^ address) & mask) == 0;
}

enum nf_class { NF_OPAQUE = 0, NF_STREAM = 1, NF_INDIRECT = 2, NF_CHASE = 3 };
enum nf_operation { NF_LOAD = 1, NF_STORE = 2, NF_BOTH = 3 };

/* One load or store (or a few, merged because they touch one line together). */
struct nf_site {
  const char* function; /* linkage name */
  const char* file;
  uint32_t line;
  uint32_t column;
  uint32_t bytes;          /* width of one access */
  uint8_t operation;       /* enum nf_operation */
  uint8_t access_class;    /* enum nf_class */
  uint16_t tests_per_line; /* an access tested only on entering a line stands for this many */
};

/* One per instrumented translation unit, registered by its constructor. */
struct nf_module {
  uint32_t abi_version;
  uint32_t rate_log2;
  uint32_t site_count;
  uint32_t first_site; /* set by nf_register: global id of sites[0] */
  const struct nf_site* sites;
  const char* compiler; /* "clang 16.0.6 -O2" */
};

void __nf_register(struct nf_module* module);

/* An access to a sampled line. `site` is module.first_site + index; `is_store` 0 or 1.
 * Called with the preserve_most convention, so that the fast path keeps its registers. */
void __nf_access(const void* address, uint32_t site, uint32_t is_store);

/* `bytes` bytes from `address` are touched once, in order (memcpy, memset, a loop's stream taken
 * out of the loop). Ordinary calling convention; sampled lines are found inside. */
void __nf_range(const void* address, size_t bytes, uint32_t site, uint32_t is_store);

#ifdef __cplusplus
}
#endif
#endif
