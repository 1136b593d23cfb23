/* Stands for the reader's program: a list in random order, walked; `--keys N` nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node* next;
  long value;
  char rest[48];
};

int main(int argc, char** argv) {
  long count = 200000;
  for (int i = 1; i + 1 < argc; i++) {
    if (strcmp(argv[i], "--keys") == 0) count = atol(argv[i + 1]);
  }
  struct node* nodes = calloc((size_t)count, sizeof *nodes);
  long* order = malloc((size_t)count * sizeof *order);
  if (nodes == NULL || order == NULL) return 1;
  for (long i = 0; i < count; i++) order[i] = i;
  srand(1);
  for (long i = count - 1; i > 0; i--) {
    long other = rand() % (i + 1), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (long i = 0; i < count; i++) {
    nodes[order[i]].next = &nodes[order[(i + 1) % count]];
    nodes[order[i]].value = i;
  }
  long sum = 0;
  const struct node* at = nodes;
  for (long step = 0; step < 5 * count; step++, at = at->next) sum += at->value;
  printf("%ld\n", sum);
  return 0;
}
