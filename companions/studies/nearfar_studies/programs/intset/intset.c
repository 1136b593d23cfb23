/* A set of integers as a sorted list, a hash table or a skip list: half look-ups, a quarter each
 * inserts and removals, of keys drawn from twice as many as are there to begin with.
 *
 * PERSISTENT=1: the same algorithms on a pool, with references that are translated at every step
 * and changes in transactions with an undo log, as libpmemobj makes them (see persist.h).
 *
 * Arguments: operations on hash table and skip list; then pairs of a size and the operations on a
 * list of it, which walks half of it each time. Phases: `list 256` ... */
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "persist.h"

enum { LEVELS = 20 }; /* a quarter of nodes reach each next level: enough for 4^20 keys */
enum { BUCKETS = 1 << 17 };

struct node {
  int64_t key;
  int32_t levels;
  ref next[]; /* one for each level; a list has one */
};
#define NODE(r) ((struct node*)direct(r))

static uint64_t seed = 88172645463325252ull;
static uint64_t draw(void) { /* Marsaglia's xorshift64 */
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

static ref make_node(int64_t key, int32_t levels) {
  const ref fresh = allocate(sizeof(struct node) + (size_t)levels * sizeof(ref));
  NODE(fresh)->key = key;
  NODE(fresh)->levels = levels;
  return fresh;
}

static void link_to(ref* from, ref to) {
  will_change(from, sizeof *from);
  *from = to;
}

/* A sorted chain from `head`: the list, and a bucket of the hash table. Returns what changed. */
static int in_chain(ref* head, int64_t key, int change) {
  ref* from = head;
  while (!is_null(*from) && NODE(*from)->key < key) from = &NODE(*from)->next[0];
  const int found = !is_null(*from) && NODE(*from)->key == key;
  if (change == 0) return found;
  if ((change > 0) == found) return 0;
  begin();
  if (change > 0) {
    const ref fresh = make_node(key, 1);
    NODE(fresh)->next[0] = *from;
    link_to(from, fresh);
  } else {
    const ref gone = *from;
    link_to(from, NODE(gone)->next[0]);
    release(gone, sizeof(struct node) + sizeof(ref));
  }
  commit();
  return 1;
}

static int in_skip_list(ref* head, int64_t key, int change) {
  ref* before[LEVELS];
  ref* row = head;
  for (int level = LEVELS - 1; level >= 0; --level) {
    while (!is_null(row[level]) && NODE(row[level])->key < key) row = NODE(row[level])->next;
    before[level] = &row[level];
  }
  const ref at = *before[0];
  const int found = !is_null(at) && NODE(at)->key == key;
  if (change == 0) return found;
  if ((change > 0) == found) return 0;
  begin();
  if (change > 0) {
    int levels = 1;
    while (levels < LEVELS && draw() % 4 == 0) ++levels;
    const ref fresh = make_node(key, levels);
    for (int level = 0; level < levels; ++level) {
      NODE(fresh)->next[level] = *before[level];
      link_to(before[level], fresh);
    }
  } else {
    const int levels = NODE(at)->levels;
    for (int level = 0; level < levels; ++level) link_to(before[level], NODE(at)->next[level]);
    release(at, sizeof(struct node) + (size_t)levels * sizeof(ref));
  }
  commit();
  return 1;
}

enum kind { LIST, HASH, SKIP };
static const char* const names[] = {"list", "hash", "skip"};

static int apply(enum kind kind, ref* heads, int64_t key, int change) {
  if (kind == SKIP) return in_skip_list(heads, key, change);
  return in_chain(kind == HASH ? &heads[(uint64_t)key % BUCKETS] : heads, key, change);
}

static long run(enum kind kind, long size, long operations) {
  const size_t count = kind == HASH ? BUCKETS : LEVELS;
  const size_t pool_bytes = count * sizeof(ref) + (size_t)size * 256 + (1 << 20);
  ref* heads = open_pool(pool_bytes, count * sizeof(ref));
  if (heads == NULL) {
    fprintf(stderr, "no memory for a pool of %zu bytes\n", pool_bytes);
    exit(1);
  }
  for (long made = 0; made < size;)
    made += apply(kind, heads, (int64_t)(draw() % (2ull * (uint64_t)size)), 1);
  char phase[32];
  snprintf(phase, sizeof phase, "%s %ld", names[kind], size);
  long done = 0;
  int insert = 1; /* updates that change something take turns: the size stays */
  nearfar_phase_begin(phase);
  for (long i = 0; i < operations; ++i) {
    const int64_t key = (int64_t)(draw() % (2ull * (uint64_t)size));
    if (draw() % 2 == 0) {
      done += apply(kind, heads, key, 0);
    } else if (apply(kind, heads, key, insert ? 1 : -1)) {
      insert = !insert;
      ++done;
    }
  }
  nearfar_phase_end(phase, (double)operations);
  close_pool();
  return done;
}

int main(int count, char** words) {
  long done = 0;
  const long others = count > 1 ? atol(words[1]) : 0;
  for (int kind = LIST; kind <= SKIP; ++kind)
    for (int i = 2; i + 1 < count; i += 2) {
      const long size = atol(words[i]);
      const long operations = kind == LIST ? atol(words[i + 1]) : others;
      if (size <= 0 || operations <= 0) return 2;
      done += run((enum kind)kind, size, operations);
    }
  printf("%ld\n", done);
  return 0;
}
