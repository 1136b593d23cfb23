/* The trace: one file, mapped by the preloaded library and `nearfar crash`, that only grows.
 *
 * It has a header of one page, then records of 8-byte granularity: nf_crash_record, then `frames`
 * return addresses of 8 bytes (innermost first), then `bytes` bytes of payload, padded to 8. `used`
 * is written last, so that everything below it is complete even if the program is killed.
 */
#ifndef NEARFAR_CRASH_TRACE_H
#define NEARFAR_CRASH_TRACE_H

#include <stdint.h>

#define NF_CRASH_MAGIC "nfcrash2"
#define NF_CRASH_VARIABLE "NEARFAR_CRASH_TRACE" /* path of the trace */
#define NF_CRASH_POOL "NEARFAR_CRASH_POOL"      /* path of the pool */
/* File of thread numbers, one byte each: the thread that continues at the n-th choice. */
#define NF_CRASH_CHOICES "NEARFAR_CRASH_CHOICES"
#define NF_CRASH_SHADOW ".shadow" /* suffix of the shadow's path: the pool as last recorded */
#define NF_CRASH_HEADER_BYTES 4096
#define NF_CRASH_LINE 64
#define NF_CRASH_PAGE 4096

struct nf_crash_header {
  char magic[8];
  uint64_t limit;          /* bytes of the file; written by nearfar, all fields below are 0 */
  uint64_t max_pool_bytes; /* bytes of a pool that are recorded; written by nearfar */
  uint64_t max_steps;      /* maximum number of single-stepped stores; written by nearfar */
  uint64_t used;           /* bytes of the file, header included */
  uint64_t steps;          /* stores single-stepped */
  uint32_t owner;          /* process that mapped the pool first and still maps it, or 0 */
  uint32_t full;           /* 1: a record did not fit; recording has stopped */
  uint32_t forked;         /* unused */
  uint32_t others;  /* other processes that mapped it at the same time; no children of fork */
  uint32_t outside; /* mappings beyond the recorder's table */
  uint32_t threads; /* 1: two threads stored into the pool */
  uint32_t copied;  /* private mappings of the pool */
  uint32_t unscheduled_waits;   /* turns taken from threads that waited in an unscheduled way */
  uint64_t schedule;            /* seed of the order of threads; written by nearfar */
  uint32_t written;             /* writes to the pool's file while it was mapped */
  uint32_t children;            /* children of fork whose stores were recorded */
  uint32_t locked;              /* process that holds the lock, or 0 */
  uint32_t thread_count;        /* threads with an event */
  uint32_t coarse;              /* 1: stores were merged because max_steps was used up */
  uint32_t unseen;              /* sum of NF_CRASH_UNSEEN_*: flushes that may have been missed */
  uint32_t unscheduled_threads; /* threads that take no turns, whose locks are not recorded */
};

#define NF_CRASH_UNSEEN_CODE 1 /* code that cannot be decoded or has no space for breakpoints */
#define NF_CRASH_UNSEEN_MADE 2 /* code that was generated at run time stored to the pool */
#define NF_CRASH_UNSEEN_LATE 4 /* code that flushes was loaded late and has not stored */

enum nf_crash_kind {
  NF_CRASH_MODULE = 1, /* a: address of its offset 0, b: its end; payload: its path */
  NF_CRASH_MAP = 2,    /* a: offset in the pool, b: bytes of the mapping */
  NF_CRASH_UNMAP = 3,  /* the same */
  NF_CRASH_BASE = 4,   /* a: offset of a page; payload: its durable content */
  NF_CRASH_STORE = 5,  /* a: offset of a line, b: bytes changed at once; c: 1 by a locked
                          instruction; payload: its new content */
  NF_CRASH_FLUSH = 6,  /* a: offset, b: bytes to write back */
  NF_CRASH_FENCE = 7,  /* earlier flushes are complete; b != 0: only those of the b bytes at a */
  NF_CRASH_BEGIN = 8,  /* a: the operation's number in the program */
  NF_CRASH_END = 9,
  NF_CRASH_SIZE = 10,   /* a: bytes of the pool's file */
  NF_CRASH_STREAM = 11, /* a: offset, b: bytes of a non-temporal store */
  /* Calls of libpmemobj (hooks_tx*). Offsets are relative to the pool. */
  NF_CRASH_TX_BEGIN = 12, /* a: depth, the outermost is 1; c: 1 if on another pool */
  NF_CRASH_TX_COMMIT = 13,
  NF_CRASH_TX_ABORT = 14,
  NF_CRASH_TX_END = 15,      /* a: its depth; c: the error that undid it, or 0 */
  NF_CRASH_TX_SNAPSHOT = 16, /* a: offset, b: bytes; c: 1 if a is an address outside the pool;
                                payload: 8 bytes, its POBJ_XADD flags */
  NF_CRASH_TX_ALLOC = 17,    /* a: offset, b: bytes; payload: 8 bytes, the type's number */
  NF_CRASH_TX_FREE = 18,     /* a: offset */
  NF_CRASH_ALLOC = 19,       /* the same, outside a transaction (atomic) */
  NF_CRASH_FREE = 20,
  /* Recorded even after a failure. Payload: requested and actual layout, each followed by a 0. */
  NF_CRASH_POOL_CREATE = 21, /* b: bytes of the pool; c: 1 if it failed */
  NF_CRASH_POOL_OPEN = 22,   /* c: 1 if it failed */
  NF_CRASH_POOL_CLOSE = 23,
  NF_CRASH_ROOT =
      24, /* a: offset of the root object, b: bytes; payload: 8 bytes, its previous size */
  NF_CRASH_RESERVE = 25,   /* as ALLOC, but not published yet */
  NF_CRASH_OPERATION = 26, /* begin (a: number); payload: kind, key, value, each followed by a 0 */
  NF_CRASH_OUTCOME = 27,   /* end of the thread's operation; payload: outcome as text */
  NF_CRASH_POINTER =
      28,              /* a: offset of a word, b: its value; payload: the mapping it points into */
  NF_CRASH_WALK = 29,  /* the program iterates over all objects, reachable or not */
  NF_CRASH_TOUCH = 30, /* a: offset of a store that changed nothing */
  NF_CRASH_SYNC = 31,  /* a: number of a lock, condition, ... or thread's begin or end; c: 1 what
                          others released there is ordered before the thread's next stores; 2 the
                          thread's stores are released there */
  NF_CRASH_TURN = 32   /* orders by choice: c: the thread that goes on, with the kind of its next
                          step << 16 (nf_crash_step); a: number or first line of the step; b: the
                          threads that could go on, as bits; payload: 8 bytes, lines of the step */
};

enum nf_crash_step {
  NF_CRASH_STEP_OTHER = 0, /* touches nothing that others see */
  NF_CRASH_STEP_STORE = 1,
  NF_CRASH_STEP_FLUSH = 2,
  NF_CRASH_STEP_FENCE = 3,
  NF_CRASH_STEP_LOCK = 4
};

struct nf_crash_record {
  uint16_t kind;
  uint16_t frames;
  uint32_t bytes;
  uint64_t a;
  uint64_t b;
  uint32_t thread; /* 0 is the first thread with an event, then 1, ... */
  uint32_t c;      /* 0 unless the kind defines it */
};

#endif
