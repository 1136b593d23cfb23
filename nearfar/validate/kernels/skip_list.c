/* Look-ups in a skip list, one node in four a level higher, nodes placed at random. */
#include <stddef.h>

#include "kernel.h"

const uint64_t kernel_operations = 30000;
const double kernel_accesses = 15;

/* enough for 4^12 nodes (16 M), more than are built */
enum { levels = 12, node_bytes = 64 };

struct node {
  uint64_t key;
  struct node* next[]; /* as many as its height */
};

static struct node* head;
static uint64_t n;

static int height_of(uint64_t number) {
  int height = 1;
  for (uint64_t dice = kernel_mix(number); height < levels && (dice & 3) == 0; dice >>= 2) height++;
  return height;
}

/* Nodes up to 7 levels high (all but one in 16384) have a line each; higher ones their own. */
static struct node* place_of(char* lines, uint32_t card, int height) {
  const uint64_t bytes = sizeof(struct node) + (uint64_t)height * sizeof(struct node*);
  return bytes <= node_bytes ? (struct node*)(lines + (uint64_t)card * node_bytes)
                             : kernel_take(bytes);
}

void kernel_prepare(uint64_t bytes) {
  n = bytes / (node_bytes + sizeof(uint32_t));
  char* lines = kernel_take(n * node_bytes);
  uint32_t* deck = kernel_take(n * sizeof *deck);
  kernel_shuffle(deck, n);
  head = kernel_take(sizeof *head + levels * sizeof(struct node*));
  struct node* last[levels];
  for (int level = 0; level < levels; level++) last[level] = head;
  for (uint64_t i = 0; i < n; i++) {
    const int height = height_of(i);
    struct node* node = place_of(lines, deck[i], height);
    node->key = 2 * i + 1;
    for (int level = 0; level < height; level++) last[level] = last[level]->next[level] = node;
  }
}

static uint64_t asked(uint64_t operation) {
  return kernel_below(kernel_mix(~operation), 2 * n) + 1;
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) {
    const uint64_t key = asked(i);
    const struct node* node = head;
    for (int level = levels - 1; level >= 0; level--)
      while (node->next[level] != NULL && node->next[level]->key <= key) node = node->next[level];
    sum += node->key;
  }
  return sum;
}

/* Each look-up must return the greatest odd number that is at most its key. */
uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) sum += (asked(i) - 1) | 1;
  return sum;
}
