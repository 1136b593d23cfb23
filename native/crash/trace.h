/* What the preloaded library tells `nearfar crash`: one file, mapped by both, that only grows.
 *
 * A header of one page, then records of 8-byte granularity, each nf_crash_record, then `frames`
 * return addresses of 8 bytes (innermost first), then `bytes` bytes of payload, padded to 8.
 * `used` is written last, so that what it covers is whole even if the program is killed.
 */
#ifndef NEARFAR_CRASH_TRACE_H
#define NEARFAR_CRASH_TRACE_H

#include <stdint.h>

#define NF_CRASH_MAGIC "nfcrash2"
#define NF_CRASH_VARIABLE "NEARFAR_CRASH_TRACE" /* path of the trace */
#define NF_CRASH_POOL "NEARFAR_CRASH_POOL"      /* path of the pool */
#define NF_CRASH_SHADOW ".shadow"               /* behind its path: the pool as it was last told */
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
  uint32_t owner;      /* process that mapped the pool first and still has it, or 0 */
  uint32_t full;       /* 1: a record did not fit; nothing is recorded since */
  uint32_t forked;     /* unused */
  uint32_t others;     /* processes, children of fork left out, that mapped it meanwhile */
  uint32_t outside;    /* mappings beyond most_pool */
  uint32_t threads;    /* 1: two threads stored into the pool */
  uint32_t copied;     /* private mappings of the pool */
  uint32_t stolen;     /* times a thread waited in a way that is not scheduled */
  uint64_t schedule;   /* seed of the order of threads; written by nearfar */
  uint32_t written;    /* write and its like to the pool's file while it was mapped */
  uint32_t children;   /* children of fork whose stores were followed */
  uint32_t locked;     /* process that writes, or 0 */
  uint32_t met;        /* threads that had an event */
  uint32_t coarse;     /* 1: stores were seen together for want of steps */
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
  NF_CRASH_SIZE = 10,   /* a: bytes of the pool's file */
  NF_CRASH_STREAM = 11, /* a: offset, b: bytes stored past the caches, on their way */
  /* libpmemobj, as the program calls it (hooks_tx*). Offsets are in the pool. */
  NF_CRASH_TX_BEGIN = 12, /* a: depth, the outermost 1; c: 1 if it is of another pool */
  NF_CRASH_TX_COMMIT = 13,
  NF_CRASH_TX_ABORT = 14,
  NF_CRASH_TX_END = 15,      /* a: depth that it had; c: the error that undid it, or 0 */
  NF_CRASH_TX_SNAPSHOT = 16, /* a: offset, b: bytes; c: 1 if a is an address out of the pool;
                                payload: 8 bytes, its POBJ_XADD flags */
  NF_CRASH_TX_ALLOC = 17,    /* a: offset, b: bytes; payload: 8 bytes, the type's number */
  NF_CRASH_TX_FREE = 18,     /* a: offset */
  NF_CRASH_ALLOC = 19,       /* the same, atomic: out of a transaction */
  NF_CRASH_FREE = 20,
  /* Also when it failed. Payload: layout asked for, layout that the file holds, a 0 behind each. */
  NF_CRASH_POOL_CREATE = 21, /* b: bytes of the pool; c: 1 it failed */
  NF_CRASH_POOL_OPEN = 22,   /* c: 1 it failed */
  NF_CRASH_POOL_CLOSE = 23,
  NF_CRASH_ROOT =
      24, /* a: offset of the root object, b: bytes; payload: 8 bytes, its size before */
  NF_CRASH_RESERVE = 25,   /* as ALLOC, not yet published */
  NF_CRASH_OPERATION = 26, /* begins (a: its number); payload: kind, key, value, a 0 behind each */
  NF_CRASH_OUTCOME = 27,   /* of the thread's operation, which ends with it; payload: its text */
  NF_CRASH_POINTER = 28, /* a: offset of a word, b: its value, payload: the memory it points into */
  NF_CRASH_WALK = 29,    /* the program looks at all objects, whether reachable or not */
  NF_CRASH_TOUCH = 30    /* a: offset, a store there changed nothing */
};

struct nf_crash_record {
  uint16_t kind;
  uint16_t frames;
  uint32_t bytes;
  uint64_t a;
  uint64_t b;
  uint32_t thread; /* who: 0 is the first thread that had an event, then 1, ... */
  uint32_t c;      /* 0 unless the kind says what it is */
};

#endif
