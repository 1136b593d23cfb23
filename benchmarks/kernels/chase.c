/* A chase along a random cycle of SIZE nodes, one line each: all misses, all dependent.
 * Goes round REPETITIONS times: each step misses once the cycle is larger than the cache. */
#include "kernel.h"

struct node {
  struct node* next;
  uint64_t payload[7];
};

static KEEP uint64_t chase(const struct node* at, uint64_t steps) {
  uint64_t sum = 0;
  while (steps-- > 0) {
    sum += at->payload[0];
    at = at->next;
  }
  return sum;
}

int main(int count, char** words) {
  struct kernel kernel = kernel_arguments(count, words, 1 << 21, 2);
  const uint64_t size = kernel.size;
  struct node* nodes = kernel_allocate(size * sizeof *nodes);
  uint32_t* order = kernel_allocate(size * sizeof *order);
  for (uint64_t i = 0; i < size; i++) order[i] = (uint32_t)i;
  for (uint64_t i = size - 1; i > 0; i--) { /* Sattolo: one cycle through all */
    const uint64_t j = kernel_mix(i) % i;
    const uint32_t kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  for (uint64_t i = 0; i < size; i++) {
    nodes[i].next = &nodes[order[i]];
    nodes[i].payload[0] = i;
  }
  free(order);
  kernel_begin(&kernel);
  const uint64_t sum = chase(nodes, size * kernel.repetitions);
  kernel_end(&kernel, (double)(size * kernel.repetitions));
  free(nodes);
  return kernel_check(&kernel, sum, size * (size - 1) / 2 * kernel.repetitions);
}
