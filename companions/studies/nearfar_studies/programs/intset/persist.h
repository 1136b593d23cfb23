/* Memory for intset.c: the heap with PERSISTENT=0; with 1 a pool that is changed in transactions.
 *
 * A transaction does what libpmemobj 1.12 does for an insert into a list, as `nearfar profile`
 * counts it there: 6 fences, 5 flushed lines, 384 bytes stored past the caches. Undo log: old
 * contents go to it before a change. Allocations go to a redo log, and to the heap's map on commit.
 * Nothing recovers the pool here; the order of flushes is that of a pool that could be. */
#ifndef PERSIST_H
#define PERSIST_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if !PERSISTENT

typedef void* ref;
static inline void* direct(ref r) { return r; }
static inline int is_null(ref r) { return r == NULL; }
static inline void begin(void) {}
static inline void commit(void) {}
static inline void will_change(const void* address, size_t bytes) { (void)address, (void)bytes; }
static inline ref allocate(size_t bytes) { return malloc(bytes); }
static inline void release(ref r, size_t bytes) { (void)bytes, free(r); }
static void* heads_block;
static ref* open_pool(size_t pool_bytes, size_t head_bytes) {
  (void)pool_bytes;
  return heads_block = calloc(1, head_bytes);
}
/* The nodes are left: each size is measured on fresh ones. */
static void close_pool(void) { free(heads_block); }

#else

/* libpmemobj's PMEMoid: 16 bytes, translated by asking whether it is of the pool used last. */
typedef struct {
  uint64_t pool;
  uint64_t offset;
} ref;

enum { LINE = 64, MOST_CHANGES = 64, SMALLEST = 32, CLASSES = 16, MAP_LINES = 64 };

struct pool {
  uint64_t id;
  uint64_t size;
  uint64_t used;
  char pad[LINE - 24];
  char redo[2 * LINE]; /* the allocation to come */
  char redo_state[LINE];
  char undo_state[LINE];
  char map[MAP_LINES][LINE]; /* which of the heap is in use */
  char undo[1 << 14];
};

static struct pool* pool;
static uint64_t pools_opened;
static struct {
  const void* address;
  size_t bytes;
} changed[MOST_CHANGES];
static int changes;
static size_t undo_used;
static uint64_t allocated; /* offset of what this transaction allocates or frees; 0: nothing */
static uint64_t released;
static size_t released_class;
static uint64_t free_lists[CLASSES]; /* volatile, as libpmemobj's buckets are */

static inline void* direct(ref r) { return r.pool == pool->id ? (char*)pool + r.offset : NULL; }
static inline int is_null(ref r) { return r.offset == 0; }

static inline void flush_line(const void* line) {
#if defined(__CLWB__)
  _mm_clwb((void*)line);
#elif defined(__CLFLUSHOPT__)
  _mm_clflushopt((void*)line);
#else
  _mm_clflush(line);
#endif
}
static inline void flush(const void* address, size_t bytes) {
  const uintptr_t end = (uintptr_t)address + bytes;
  for (uintptr_t line = (uintptr_t)address & -(uintptr_t)LINE; line < end; line += LINE)
    flush_line((const void*)line);
}
static inline void persist(void* address, size_t bytes) {
  flush(address, bytes);
  _mm_sfence();
}
static inline void stream_line(char* to, const void* from) {
  for (int part = 0; part < LINE; part += 16)
    _mm_stream_si128((__m128i*)(to + part),
                     _mm_loadu_si128((const __m128i*)((const char*)from + part)));
}

static inline void begin(void) { changes = 0, undo_used = 0, allocated = released = 0; }

/* Logs what is there now: header and contents, in whole lines. */
static void will_change(const void* address, size_t bytes) {
  /* What this transaction allocated needs no log. */
  const uint64_t offset = (uint64_t)((const char*)address - (char*)pool);
  if (changes == MOST_CHANGES || undo_used + 4 * LINE > sizeof pool->undo) abort();
  char entry[4 * LINE] = {0};
  memcpy(entry, &offset, sizeof offset);
  memcpy(entry + 8, &bytes, sizeof bytes);
  memcpy(entry + 16, address, bytes);
  for (size_t at = 0; at < sizeof entry; at += LINE)
    stream_line(pool->undo + undo_used + at, entry + at);
  _mm_sfence();
  undo_used += sizeof entry;
  changed[changes].address = address;
  changed[changes++].bytes = bytes;
}

static inline size_t class_of(size_t bytes) {
  size_t class = 0;
  while (((size_t)SMALLEST << class) < bytes) ++class;
  return class;
}

static ref allocate(size_t bytes) {
  const size_t class = class_of(bytes);
  uint64_t offset = free_lists[class];
  if (offset != 0) {
    free_lists[class] = *(uint64_t*)((char*)pool + offset);
  } else {
    const size_t whole = (size_t)SMALLEST << class;
    if (pool->used + whole > pool->size) abort();
    offset = pool->used;
    pool->used += whole;
  }
  char entry[2 * LINE] = {0};
  memcpy(entry, &offset, sizeof offset);
  for (size_t at = 0; at < sizeof entry; at += LINE) stream_line(pool->redo + at, entry + at);
  _mm_sfence();
  allocated = offset;
  changed[changes].address = (char*)pool + offset;
  changed[changes++].bytes = bytes;
  return (ref){pool->id, offset};
}

static inline void release(ref gone, size_t bytes) {
  char entry[2 * LINE] = {0};
  memcpy(entry, &gone.offset, sizeof gone.offset);
  for (size_t at = 0; at < sizeof entry; at += LINE) stream_line(pool->redo + at, entry + at);
  _mm_sfence();
  released = gone.offset;
  released_class = class_of(bytes);
}

static inline void commit(void) {
  for (int i = 0; i < changes; ++i) flush(changed[i].address, changed[i].bytes);
  _mm_sfence();
  const uint64_t used = allocated + released;
  if (used != 0) {
    memcpy(pool->redo_state, &used, sizeof used);
    persist(pool->redo_state, sizeof used);
    char* line = pool->map[used / SMALLEST / 512 % MAP_LINES];
    line[used / SMALLEST / 8 % LINE] ^= (char)(1 << used / SMALLEST % 8);
    persist(line, LINE);
  }
  memcpy(pool->undo_state, &undo_used, sizeof undo_used);
  persist(pool->undo_state, sizeof undo_used);
  if (released != 0) {
    *(uint64_t*)((char*)pool + released) = free_lists[released_class];
    free_lists[released_class] = released;
  }
}

static ref* open_pool(size_t pool_bytes, size_t head_bytes) {
  const size_t bytes = pool_bytes + sizeof(struct pool) + head_bytes;
  pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pool == MAP_FAILED) return NULL;
  pool->id = ++pools_opened;
  pool->size = bytes;
  pool->used = (sizeof(struct pool) + head_bytes + LINE - 1) / LINE * LINE;
  memset(free_lists, 0, sizeof free_lists);
  return (ref*)(pool + 1);
}
static void close_pool(void) { munmap(pool, pool->size); }

#endif
#endif
