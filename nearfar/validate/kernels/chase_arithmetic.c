/* A chase in random order with a chain of multiplications at every step. */
#include "kernel.h"

const uint64_t kernel_operations = 400000;
const double kernel_accesses = 1;

/* About 30 ns of dependent arithmetic: a quarter of a miss. */
enum { multiplications = 24 };

struct node {
  struct node* next;
  uint64_t value;
  uint64_t other[6];
};

static uint64_t n;
static struct node *nodes, *at;
static uint32_t* deck;

static uint64_t work(uint64_t value) {
  for (int i = 0; i < multiplications; i++) value = value * 0x5851F42D4C957F2Dull + 1;
  return value;
}

void kernel_prepare(uint64_t bytes) {
  n = bytes / (sizeof *nodes + sizeof *deck);
  nodes = kernel_take(n * sizeof *nodes);
  deck = kernel_take(n * sizeof *deck);
  kernel_shuffle(deck, n);
  for (uint64_t i = 0; i < n; i++) {
    nodes[deck[i]].next = &nodes[deck[i + 1 == n ? 0 : i + 1]];
    nodes[deck[i]].value = kernel_mix(deck[i]);
  }
  at = &nodes[deck[0]];
}

uint64_t kernel_perform(uint64_t first, uint64_t count) {
  (void)first; /* it continues where the last run ended */
  struct node* node = at;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    sum ^= work(node->value ^ (sum & 1));
    node = node->next;
  }
  at = node;
  return sum;
}

uint64_t kernel_expected(uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = first; i < first + count; i++) sum ^= work(kernel_mix(deck[i % n]) ^ (sum & 1));
  return sum;
}
