/* What the preloaded library tells `nearfar crash`: one file, mapped by both, that only grows.
 *
 * A header of one page, then records of 8-byte granularity, each nf_crash_record, then `frames`
 * return addresses of 8 bytes (innermost first), then `bytes` bytes of payload, padded to 8.
 * `used` is written last, so that what it covers is whole even if the program is killed.
 */
#ifndef NEARFAR_CRASH_TRACE_H
#define NEARFAR_CRASH_TRACE_H

#include <stdint.h>

#define NF_CRASH_MAGIC "nfcrash1"
#define NF_CRASH_VARIABLE "NEARFAR_CRASH_TRACE" /* path of the trace */
#define NF_CRASH_POOL "NEARFAR_CRASH_POOL"      /* path of the pool */
#define NF_CRASH_HEADER_BYTES 4096
#define NF_CRASH_LINE 64
#define NF_CRASH_PAGE 4096

struct nf_crash_header {
  char magic[8];
  uint64_t limit;      /* bytes of the file; written by nearfar, with all below 0 */
  uint64_t most_pool;  /* bytes of a pool that are looked at; written by nearfar */
  uint64_t most_steps; /* stores that are single-stepped; written by nearfar */
  uint64_t used;       /* bytes of the file, header included */
  uint64_t steps;      /* stores single-stepped */
  uint32_t owner;      /* process that has the pool mapped, or 0 */
  uint32_t full;       /* 1: a record did not fit; nothing is recorded since */
  uint32_t forked;     /* forks while the pool was mapped */
  uint32_t others;     /* mappings by other processes while it was mapped */
  uint32_t outside;    /* mappings beyond most_pool */
  uint32_t threads;    /* 1: two threads stored into the pool */
  uint32_t copied;     /* private mappings of the pool */
};

enum nf_crash_kind {
  NF_CRASH_MODULE = 1, /* a: address of its offset 0, b: its end; payload: its path */
  NF_CRASH_MAP = 2,    /* a: offset in the pool, b: bytes of the mapping */
  NF_CRASH_UNMAP = 3,  /* the same */
  NF_CRASH_BASE = 4,   /* a: offset of a page, payload: its content, which is durable */
  NF_CRASH_STORE = 5,  /* a: offset of a line, b: bytes changed at once; payload: its content now */
  NF_CRASH_FLUSH = 6,  /* a: offset, b: bytes asked to be written back */
  NF_CRASH_FENCE = 7,  /* flushes before it are done */
  NF_CRASH_BEGIN = 8,  /* a: number of the operation, as the program counts */
  NF_CRASH_END = 9,
  NF_CRASH_SIZE = 10,  /* a: bytes of the pool's file */
  NF_CRASH_STREAM = 11 /* a: offset, b: bytes stored past the caches, on their way */
};

struct nf_crash_record {
  uint16_t kind;
  uint16_t frames;
  uint32_t bytes;
  uint64_t a;
  uint64_t b;
};

#endif
