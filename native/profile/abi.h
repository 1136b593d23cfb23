/* Interface between instrumented code and the runtime library, in C, so that both can use it.
 *
 * The pass tests every access inline. Exactly one 64-byte line of every 4 KiB page is *sampled*
 * (rate 64): the line whose number within the page equals a hash of the page's number. Only
 * accesses to sampled lines leave the fast path. Because there is one sampled line per page, the
 * runtime's tables are small: 8 bytes per page identify the object of its sampled line.
 *
 *   x = (((address >> 12) * NF_HASH_MULTIPLIER) >> NF_HASH_SHIFT) ^ address
 *   sampled(address) = (x & NF_FILTER_MASK(rate_log2)) == 0
 *
 * NF_FILTER_MASK selects rate_log2 bits from bit 6 up. rate_log2 < 6 samples 2^(6-rate_log2) lines
 * of every page, rate_log2 = 0 all of them; rate_log2 > 6 samples one line in every 2^(rate_log2-6)
 * pages on average, since the higher bits then compare page bits with the hash.
 *
 * Every line of one page in 128 leaves the fast path too: these *whole* pages tell how often and in
 * which order pages are touched (native/profile/runtime/pages.cpp).
 *
 *   whole(address) = (x & NF_PAGE_MASK) == 0
 */
#ifndef NEARFAR_PROFILE_ABI_H
#define NEARFAR_PROFILE_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NF_ABI_VERSION 4u

#define NF_LINE_LOG2 6
#define NF_LINE_BYTES (1 << NF_LINE_LOG2)

/* An odd 31-bit constant (2^31 / golden ratio): the product's middle bits mix all page bits. */
#define NF_HASH_MULTIPLIER 0x4F1BBCDDull
/* Brings product bits 26.. to bit 6.., where the line number within the page begins. */
#define NF_HASH_SHIFT 20
#define NF_FILTER_MASK(rate_log2) (((1ull << (rate_log2)) - 1) << NF_LINE_LOG2)
/* Bits that depend on the page alone. */
#define NF_PAGE_RATE_LOG2 7
#define NF_PAGE_MASK (((1ull << NF_PAGE_RATE_LOG2) - 1) << 12)

static inline int nf_sampled(uint64_t address, uint64_t mask) {
  return (((((address >> 12) * NF_HASH_MULTIPLIER) >> NF_HASH_SHIFT) ^ address) & mask) == 0;
}
/* Number of a sampled line, counted from address 0. inner_log2 is the smaller of rate_log2 and 6.
 */
static inline uint64_t nf_ordinal(uint64_t address, unsigned inner_log2) {
  return (address >> 12 << (6 - inner_log2)) + ((address >> 6 & 63) >> inner_log2);
}
static inline int nf_whole(uint64_t address) { return nf_sampled(address, NF_PAGE_MASK); }

enum nf_class { NF_OPAQUE = 0, NF_STREAM = 1, NF_INDIRECT = 2, NF_CHASE = 3 };
/* NF_BOTH: a load, then a store to the same address (read-modify-write). It misses as a load and
 * leaves the line dirty. The call passes is_store = 1; the site's `operation` distinguishes it from
 * a store.
 */
enum nf_operation { NF_LOAD = 1, NF_STORE = 2, NF_BOTH = 3 };

/* A load or store, or a few merged ones that touch one line. */
struct nf_site {
  const char* function; /* linkage name */
  const char* file;
  uint32_t line;
  uint32_t column;
  uint32_t bytes;          /* width of one access */
  uint8_t operation;       /* enum nf_operation */
  uint8_t access_class;    /* enum nf_class */
  uint16_t tests_per_line; /* accesses that one tested on entering a line represents */
  /* Touched fields, the first touched one first, a line each: type, its bytes, field, offset in the
   * type, bytes, 1 (always touched) or 0 (perhaps), separated by tabs. "": unknown. */
  const char* fields;
};

/* One per instrumented translation unit, registered by its constructor. */
struct nf_module {
  uint32_t abi_version;
  uint32_t rate_log2;
  uint32_t site_count;
  /* Set by nf_register: global id of sites[0], not 0 if the module is traced. */
  uint32_t first_site;
  const struct nf_site* sites;
  const char* compiler; /* "clang 16.0.6 -O2" */
};

/* The runtime library has hidden visibility; it exports these functions. */
#pragma GCC visibility push(default)

/* These functions preserve the caller's general registers; only clang can define them. */
#ifdef __clang__
#define NF_PRESERVE_MOST __attribute__((preserve_most))
#else
#define NF_PRESERVE_MOST
#endif

void __nf_register(struct nf_module* module);

/* Variables from this size on are objects of their own. */
#define NF_LARGE_VARIABLE (1u << 20)

/* Reports a variable of the program, after its module; several files may define one (COMMON). */
void __nf_register_variable(const void* address, uint64_t bytes, const char* name);

/* Reports an access to a sampled line or a whole page. `site` is module.first_site + index;
 * `is_store` is 0 or 1. Uses the preserve_most convention, so that the fast path keeps its
 * registers. */
NF_PRESERVE_MOST void __nf_access(const void* address, uint32_t site, uint32_t is_store);

/* Reports `bytes` bytes from `address` that are touched once, in order (memcpy, memset, a stream
 * hoisted out of a loop). Ordinary convention; the function finds the sampled lines. */
void __nf_range(const void* address, size_t bytes, uint32_t site, uint32_t is_store);

/* The functions below unpack several accesses into calls of __nf_access (native/profile/events.cpp,
 * part of the runtime library). */

/* Reports up to 64 bytes from `address`, which may straddle two lines, one of them sampled.
 * preserve_most. `shape` is rate_log2 << 16 | bytes << 1 | is_store. */
NF_PRESERVE_MOST void __nf_span(const void* address, uint32_t site, uint32_t shape);

/* Reports `bytes` bytes from `address` (less than a page), which a short loop is about to touch in
 * order or in reverse. preserve_most. `shape` is rate_log2 << 16 | is_store. */
void __nf_row(const void* address, size_t bytes, uint32_t site, uint32_t shape);

/* Reports that a string function is about to read `first` and, unless null, `second`, at most
 * `limit` bytes of each: until they differ (with `second`) or until a byte equals `stop` (0..255,
 * or -1 for none). Called only if a sampled line is close; it finds the actual extent. Ordinary
 * convention. */
void __nf_string(const void* first, const void* second, size_t limit, int stop, uint32_t site);

/* Accesses of a loop that advance by constant steps are not tested one by one. A short loop reports
 * its lines beforehand (__nf_row). A longer one counts down to the next iteration in which one of
 * its streams enters a sampled line, which preserves the order of streams. The frame is on the
 * loop's stack; the loop fills it on entry, and the runtime sets the remaining fields. */
struct nf_stream {
  uint64_t address; /* first byte touched in iteration 0 */
  int64_t step;     /* bytes per iteration, not 0 */
  uint32_t site;
  uint16_t bytes;    /* touched per iteration, from address + iteration * step on */
  uint16_t is_store; /* 0 or 1 */
  uint64_t next;     /* set by the runtime: iteration of the next event */
  uint64_t line;     /* set by the runtime: sampled line of that event */
};
struct nf_loop {
  uint64_t iteration; /* set by the runtime: iteration of the current event; UINT64_MAX before the
                         first */
  uint32_t count;
  uint32_t rate_log2;
  struct nf_stream streams[]; /* `count` streams */
};

/* Reports the accesses of the current event (none on the first call) and returns the number of
 * iterations until the next event; 0 (first call only) means the current iteration. preserve_most.
 */
NF_PRESERVE_MOST uint64_t __nf_loop(struct nf_loop* loop);

/* Reports that the line of `address` is about to be flushed: it `stays` in the caches (clwb) or not
 * (clflush, clflushopt). Like the next two, it is called at every such instruction, for any line.
 * Ordinary convention. */
void __nf_flush(const void* address, uint32_t stays);
/* Reports a non-temporal store of `bytes` bytes at `address`. */
void __nf_stream_store(const void* address, uint32_t bytes);
/* Reports a fence or, in code that flushes, an instruction with a lock prefix, before it waits. */
void __nf_fence(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
