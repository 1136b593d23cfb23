/* The well-known example maps of libpmemobj (Debian's libpmemobj-dev ships their sources under
 * /usr/share/doc), behind their own interface map.h. Each line "OPERATION COUNT" of standard input
 * is run and answered by a line of JSON, processor ns and counts per operation: inserts until all N
 * keys are there, then gets, then removes, as `nearfar-bench turns` does. Keys are nearfar-bench's;
 * all map to one object, whose making is not timed.
 *
 *   maps_peer MAP N SEED POOL
 */
#include <libpmemobj.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "hashmap/hashmap.h"
#include "map.h"
#include "map_btree.h"
#include "map_ctree.h"
#include "map_hashmap_atomic.h"
#include "map_hashmap_rp.h"
#include "map_hashmap_tx.h"
#include "map_rbtree.h"
#include "map_rtree.h"
#include "map_skiplist.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* companions/bench/native/bench/counts.hpp */
struct counts {
  uint64_t transactions, snapshots, snapshot_bytes, allocations, frees, publications, flush_calls,
      flushed_lines, copied_lines, fences, msyncs;
};
__attribute__((weak)) void nearfar_bench_count_begin(void);
__attribute__((weak)) void nearfar_bench_count_end(struct counts* into);

static uint64_t mixed(uint64_t key) { /* companions/bench/native/bench/maps/hash.hpp */
  key ^= key >> 33;
  key *= 0xff51afd7ed558ccdULL;
  key ^= key >> 33;
  key *= 0xc4ceb9fe1a85ec53ULL;
  return key ^ key >> 33;
}

static double cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static const struct map_ops* ops_of(const char* name) {
  if (strcmp(name, "hash-tx") == 0) return MAP_HASHMAP_TX;
  if (strcmp(name, "hash-atomic") == 0) return MAP_HASHMAP_ATOMIC;
  if (strcmp(name, "hash-robin-hood") == 0) return MAP_HASHMAP_RP;
  if (strcmp(name, "b-tree") == 0) return MAP_BTREE;
  if (strcmp(name, "crit-bit") == 0) return MAP_CTREE;
  if (strcmp(name, "radix") == 0) return MAP_RTREE;
  if (strcmp(name, "red-black") == 0) return MAP_RBTREE;
  if (strcmp(name, "skip-list") == 0) return MAP_SKIPLIST;
  return NULL;
}

static void fail(const char* what) {
  fprintf(stderr, "maps_peer: %s: %s\n", what, pmemobj_errormsg());
  exit(1);
}

static double before;
static void begin(void) {
  if (nearfar_bench_count_begin) nearfar_bench_count_begin();
  before = cpu_ns();
}
static void end(const char* operation, uint64_t n) {
  const double spent = cpu_ns() - before;
  struct counts c;
  memset(&c, 0, sizeof c);
  if (nearfar_bench_count_end) nearfar_bench_count_end(&c);
  const double per = (double)n;
  printf(
      "{\"operation\":\"%s\",\"cpu_ns_per_operation\":%.10g,\"transactions\":%.10g,"
      "\"snapshots\":%.10g,\"flush_calls\":%.10g,\"lines\":%.10g,\"fences\":%.10g}\n",
      operation, spent / per, (double)c.transactions / per, (double)c.snapshots / per,
      (double)c.flush_calls / per, (double)(c.flushed_lines + c.copied_lines) / per,
      (double)c.fences / per);
  fflush(stdout);
}

int main(int count, char** words) {
  const struct map_ops* ops = count == 5 ? ops_of(words[1]) : NULL;
  if (ops == NULL) {
    fprintf(stderr, "maps_peer MAP N SEED POOL\n");
    return 2;
  }
  const uint64_t n = strtoull(words[2], NULL, 10);
  const uint64_t seed = strtoull(words[3], NULL, 10);
  /* A node of the example's radix tree has 256 children of 16 bytes, one for each key. */
  const uint64_t each = strcmp(words[1], "radix") == 0 ? 5120 : 512;
  const size_t huge = 2U << 20U; /* libpmemobj maps no part of a page */
  const size_t bytes = ((64U << 20U) + each * n + huge - 1) / huge * huge;
  PMEMobjpool* pool = pmemobj_create(words[4], "maps_peer", bytes, 0600);
  if (pool == NULL) fail("cannot make the pool");
  if (madvise(pool, bytes, MADV_POPULATE_WRITE) != 0) perror("maps_peer: pages were not given");

  TOID(struct map)* root = pmemobj_direct(pmemobj_root(pool, sizeof(TOID(struct map))));
  struct hashmap_args arguments = {.seed = 1};
  struct map_ctx* context = map_ctx_init(ops, pool);
  if (map_create(context, root, &arguments) != 0) fail("cannot make the map");
  TOID(struct map) map = *root;
  PMEMoid value;
  if (pmemobj_alloc(pool, &value, 64, 1, NULL, NULL) != 0) fail("cannot make the value");

  uint64_t* keys = malloc(n * sizeof *keys);
  for (uint64_t i = 0; i < n; ++i) keys[i] = mixed((seed << 40) + i + 1);
  uint64_t inserted = 0;
  uint64_t got = 0;
  uint64_t removed = 0;
  char operation[16];
  uint64_t count_of;
  while (scanf("%15s %" SCNu64, operation, &count_of) == 2) {
    uint64_t* const done = strcmp(operation, "insert") == 0 ? &inserted
                           : strcmp(operation, "get") == 0  ? &got
                                                            : &removed;
    if (count_of > n - *done || (done != &inserted && inserted != n)) {
      fprintf(stderr, "maps_peer: there are not so many keys to %s\n", operation);
      return 2;
    }
    begin();
    for (uint64_t i = *done; i < *done + count_of; ++i) {
      if (done == &inserted) {
        if (map_insert(context, map, keys[i], value) != 0) fail("an insert failed");
      } else if (done == &got) {
        if (OID_IS_NULL(map_get(context, map, keys[i]))) fail("a get found nothing");
      } else {
        if (OID_IS_NULL(map_remove(context, map, keys[i]))) fail("a remove found nothing");
      }
    }
    end(operation, count_of);
    *done += count_of;
    for (uint64_t i = done == &inserted && inserted == n ? n : 0; i > 1; --i) { /* shuffled */
      const uint64_t j = mixed(i + seed) % i;
      const uint64_t key = keys[i - 1];
      keys[i - 1] = keys[j];
      keys[j] = key;
    }
  }
  free(keys);
  map_ctx_free(context);
  pmemobj_close(pool);
  return 0;
}
