/*
 * page_index: the index of a small page store, kept as a binary search tree.
 *
 * Keys are scrambled page numbers, so the tree stays shallow without balancing.
 * Most requests only ask whether a key is present, some read the page description,
 * and now and then the oldest page expires and its entry is used for a new page.
 * Hot:  key, left, right - needed at each step down the tree.
 * Cold: the page description, touched by reads, by new pages and by a final report.
 *
 * Each entry has its own malloc.  With -DSPLIT an entry keeps only the tree part
 * and a pointer to its description.  The descriptions come from blocks, so that
 * they do not lie between the entries on the heap.  Argument: number of entries.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
  uint64_t key;
  struct entry *left, *right;
#ifdef SPLIT
  struct page_info* info;
};
#define INFO(e) ((e)->info)

struct page_info {
#else
#define INFO(e) (e)
#endif
  uint64_t offset, created, last_read;
  uint32_t size, reads, owner;
  char tag[28];
};

static struct entry* root;
static uint64_t now;

static uint64_t rnd(void) {
  static uint64_t state = 0x1234567;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* Turns a page number into its key; different numbers get different keys. */
static uint64_t page_key(uint64_t id) {
  id = (id + 1) * 0x9e3779b97f4a7c15u;
  return (id ^ (id >> 30)) * 0xbf58476d1ce4e5b9u;
}

static struct entry* new_entry(void) {
  struct entry* e = malloc(sizeof *e);
#ifdef SPLIT
  static struct page_info* block;
  static int unused;
  if (unused == 0) {
    unused = 1024;
    block = malloc(1024 * sizeof *block);
  }
  if (!e || !block) abort();
  e->info = &block[--unused];
#else
  if (!e) abort();
#endif
  return e;
}

/* Finds the link that points to the entry, or the empty link where it belongs. */
static struct entry** find(uint64_t key) {
  struct entry** p = &root;
  while (*p && (*p)->key != key) p = key < (*p)->key ? &(*p)->left : &(*p)->right;
  return p;
}

static void insert(struct entry* e, uint64_t id) {
  e->key = page_key(id);
  e->left = e->right = NULL;
  INFO(e)->offset = id * 4096;
  INFO(e)->created = INFO(e)->last_read = now;
  INFO(e)->size = 64 + (uint32_t)(rnd() % 4000);
  INFO(e)->reads = 0;
  INFO(e)->owner = (uint32_t)(rnd() % 500);
  snprintf(INFO(e)->tag, sizeof INFO(e)->tag, "page-%" PRIu64, id);
  *find(e->key) = e;
}

/* Takes an entry out of the tree; the caller uses it again. */
static struct entry* take_out(uint64_t key) {
  struct entry **p = find(key), *e = *p;
  if (e->left && e->right) { /* the next larger key takes its place */
    struct entry** q = &e->right;
    while ((*q)->left) q = &(*q)->left;
    *p = *q;
    *q = (*q)->right;
    (*p)->left = e->left;
    (*p)->right = e->right;
  } else {
    *p = e->left ? e->left : e->right;
  }
  return e;
}

static uint64_t report(const struct entry* e) {
  if (!e) return 0;
  uint64_t sum = report(e->left) * 31 + report(e->right) + now - INFO(e)->last_read;
  return sum + (uint64_t)INFO(e)->size * INFO(e)->reads + INFO(e)->owner;
}

int main(int argc, char** argv) {
  uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
  uint64_t oldest = 0, next = 0, sum = 0;
  while (next < n) insert(new_entry(), next++);

  for (now = 1; now <= 2 * n; now++) {
    unsigned kind = (unsigned)(rnd() % 100);
    uint64_t key = page_key(oldest + rnd() % (2 * n)); /* half are missing */
    if (kind < 80) {
      sum += *find(key) != NULL;
    } else if (kind < 95) {
      struct entry* e = *find(key);
      if (e) {
        INFO(e)->reads++;
        INFO(e)->last_read = now;
        sum += INFO(e)->offset ^ INFO(e)->size;
      }
    } else {
      struct entry* e = take_out(page_key(oldest++));
      sum += now - INFO(e)->created + (uint64_t)INFO(e)->tag[5];
      insert(e, next++);
    }
  }
  printf("%016" PRIx64 "\n", sum * 1000003 + report(root));
  return 0;
}
