/* Two phases that miss alike and wait differently: a list in random order, and a gather. */
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES (1u << 15) /* 2 MiB */
#define STEPS 30000u

struct node {
  struct node* next;
  uint64_t value[7];
};

static uint32_t dice(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

__attribute__((noinline)) static uint64_t chase(const struct node* node) {
  for (unsigned i = 0; i < STEPS; ++i) node = node->next;
  return node->value[0];
}

__attribute__((noinline)) static uint64_t gather(const struct node* nodes, const uint32_t* order) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < STEPS; ++i) sum += nodes[order[i]].value[1];
  return sum;
}

int main(void) {
  struct node* nodes = malloc(LINES * sizeof *nodes);
  uint32_t* order = malloc(LINES * sizeof *order);
  if (nodes == NULL || order == NULL) return 1;
  uint64_t state = 1;
  for (uint32_t i = 0; i < LINES; ++i) order[i] = i;
  for (uint32_t i = LINES - 1; i > 0; --i) {
    const uint32_t other = dice(&state) % (i + 1);
    const uint32_t kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (uint32_t i = 0; i < LINES; ++i) {
    nodes[order[i]].next = &nodes[order[(i + 1) % LINES]];
    nodes[order[i]].value[0] = i;
    nodes[order[i]].value[1] = i;
  }
  NEARFAR_BEGIN("chase");
  uint64_t sum = chase(nodes);
  NEARFAR_END("chase", STEPS);
  NEARFAR_BEGIN("gather");
  sum += gather(nodes, order);
  NEARFAR_END("gather", STEPS);
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
