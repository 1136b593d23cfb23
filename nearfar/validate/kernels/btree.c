/* Look-ups in a B+tree of 256-byte nodes, 16 children each, nodes placed at random. */
#include "kernel.h"

const uint64_t kernel_operations = 500000;
const double kernel_accesses = 3;

enum { width = 15 };

struct node {
  uint64_t count; /* of keys; leaves hold no children */
  uint64_t key[width];
  struct node* child[width + 1];
};

static struct node* root;
static int height;
static uint64_t keys;
static struct node* nodes;
static uint32_t* deck;
static uint64_t used;

/* Keys are the even numbers below 2 x keys; a tree of `level` levels over `n` of them, from number
 * `low` on, whose root has `children`. */
static struct node* build(uint64_t low, uint64_t n, int level, uint64_t children) {
  struct node* node = &nodes[deck[used++]];
  node->count = level == 1 ? width : children - 1;
  const uint64_t share = level == 1 ? 1 : n / children;
  for (uint64_t i = 0; i < node->count; i++) node->key[i] = 2 * (low + (i + (level > 1)) * share);
  for (uint64_t i = 0; level > 1 && i < children; i++)
    node->child[i] = build(low + i * share, share, level - 1, width + 1);
  return node;
}

void kernel_prepare(uint64_t bytes) {
  uint64_t all = 1, leaves = 1; /* of a child of the root */
  height = 2;
  while ((all + 16 * leaves) * (sizeof *nodes + sizeof *deck) * 2 <= bytes) {
    leaves *= 16;
    all += leaves;
    height++;
  }
  uint64_t children = bytes / (all * (sizeof *nodes + sizeof *deck));
  if (children > width + 1) children = width + 1;
  nodes = kernel_take((1 + children * all) * sizeof *nodes);
  deck = kernel_take((1 + children * all) * sizeof *deck);
  kernel_shuffle(deck, 1 + children * all);
  keys = children * leaves * width;
  root = build(0, keys, height, children);
}

/* Numbers from 0 to 2 x keys: half of them are odd, and not there. */
static uint64_t asked(uint64_t operation) { return kernel_below(kernel_mix(~operation), 2 * keys); }

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  uint64_t found = 0;
  for (uint64_t i = first; i < first + count; i++) {
    const uint64_t key = asked(i);
    const struct node* node = root;
    for (int level = height; level > 1; level--) {
      uint64_t k = 0;
      while (k < node->count && node->key[k] <= key) k++;
      node = node->child[k];
    }
    for (uint64_t k = 0; k < node->count; k++)
      if (node->key[k] == key) found += key;
  }
  return found;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t found = 0;
  for (uint64_t i = first; i < first + count; i++) found += asked(i) % 2 == 0 ? asked(i) : 0;
  return found;
}
