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
/* NF_BOTH: a load, then a store to the same place (read-modify-write): it misses as a load and
 * leaves the line dirty. The call says is_store = 1; the site's `operation` tells it from a store.
 */
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

/* The run-time library is built with hidden visibility; these it exports. */
#pragma GCC visibility push(default)

/* Functions marked so keep the caller's general registers; only clang can define them. */
#ifdef __clang__
#define NF_PRESERVE_MOST __attribute__((preserve_most))
#else
#define NF_PRESERVE_MOST
#endif

void __nf_register(struct nf_module* module);

/* An access to a sampled line. `site` is module.first_site + index; `is_store` 0 or 1.
 * Called with the preserve_most convention, so that the fast path keeps its registers. */
NF_PRESERVE_MOST void __nf_access(const void* address, uint32_t site, uint32_t is_store);

/* `bytes` bytes from `address` are touched once, in order (memcpy, memset, a loop's stream taken
 * out of the loop). Ordinary calling convention; sampled lines are found inside. */
void __nf_range(const void* address, size_t bytes, uint32_t site, uint32_t is_store);

/* The entries below unpack several accesses into calls of __nf_access. They are implemented in
 * native/profile/events.cpp, which belongs to the run-time library. */

/* Up to 64 bytes from `address`, which may straddle two lines, of which one may be sampled.
 * preserve_most. `shape` is rate_log2 << 16 | bytes << 1 | is_store. */
NF_PRESERVE_MOST void __nf_span(const void* address, uint32_t site, uint32_t shape);

/* `bytes` bytes from `address` (less than a page), which a short loop is about to touch in order or
 * in reverse. preserve_most. `shape` is rate_log2 << 16 | is_store. */
void __nf_row(const void* address, size_t bytes, uint32_t site, uint32_t shape);

/* A string function is about to look at `first` and, unless null, `second`, at most `limit` bytes
 * of each: until they differ (second given) or until a byte equals `stop` (0..255, or -1 for none).
 * Called only if a sampled line is near; finds the true extent itself. Ordinary convention. */
void __nf_string(const void* first, const void* second, size_t limit, int stop, uint32_t site);

/* A loop whose accesses advance by constant steps is not tested at every access. If it is short its
 * lines are reported before it (__nf_row). Otherwise it counts down to the next iteration in which
 * one of its streams enters a sampled line, so that streams interleave as they do. The frame is on
 * the loop's stack; the loop fills it on entry, the rest is the run time's. */
struct nf_stream {
  uint64_t address; /* first byte touched in iteration 0 */
  int64_t step;     /* bytes per iteration, not 0 */
  uint32_t site;
  uint16_t bytes;    /* touched per iteration, from address + iteration * step up */
  uint16_t is_store; /* 0 or 1 */
  uint64_t next;     /* run time: iteration of the next event */
  uint64_t line;     /* run time: the sampled line entered then */
};
struct nf_loop {
  uint64_t iteration; /* run time: iteration of the event now due; UINT64_MAX before the first */
  uint32_t count;
  uint32_t rate_log2;
  struct nf_stream streams[]; /* count of them */
};

/* Reports the accesses of the event now due (none on the first call) and returns the number of
 * iterations until the next: 0 (first call only) for the current iteration. preserve_most. */
NF_PRESERVE_MOST uint64_t __nf_loop(struct nf_loop* loop);

/* The line of `address` is about to be flushed: it `stays` in the caches (clwb) or not (clflush,
 * clflushopt). All three are called at every such instruction, sampled line or not; ordinary
 * convention. */
void __nf_flush(const void* address, uint32_t stays);
/* `bytes` bytes from `address` are about to be stored past the caches. */
void __nf_stream_store(const void* address, uint32_t bytes);
/* A fence, or in code that flushes an instruction with a lock prefix, is about to wait. */
void __nf_fence(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
