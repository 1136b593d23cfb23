/* Trees that are built and given back again and again: after the first ones the heap should not
 * grow, and blocks of calloc are zero. Ends with 1 if the peak grows by more than a quarter. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tree {
  struct tree* below[2];
  long value;
};

static struct tree* make_node(int round) {
  switch (round % 3) {
    case 0:
      return malloc(sizeof(struct tree));
    case 1:
      return realloc(malloc(1), sizeof(struct tree));
    default:
      return calloc(1, sizeof(struct tree));
  }
}

static struct tree* build(int depth, int round) {
  struct tree* const tree = make_node(round);
  if (tree == NULL) exit(2);
  if (round % 3 == 2 && (tree->below[0] || tree->below[1] || tree->value)) exit(3);
  for (int i = 0; i < 2; ++i) tree->below[i] = depth > 0 ? build(depth - 1, round) : NULL;
  tree->value = depth + 1;
  return tree;
}

static void drop(struct tree* tree) {
  if (tree == NULL) return;
  for (int i = 0; i < 2; ++i) drop(tree->below[i]);
  free(tree);
}

/* Blocks with the size and alignment of a sampled block's pages. */
static void use_pages(void) {
  enum { BLOCKS = 8, BYTES = 16384 };
  char* pages[BLOCKS];
  for (int i = 0; i < BLOCKS; ++i) {
    if (posix_memalign((void**)&pages[i], 4096, BYTES) != 0) exit(2);
    if (malloc_usable_size(pages[i]) < BYTES) exit(4);
    memset(pages[i], i + 1, BYTES);
  }
  for (int i = 0; i < BLOCKS; ++i) {
    if (pages[i][0] != i + 1 || pages[i][BYTES - 1] != i + 1) exit(5);
    free(pages[i]);
  }
}

static long peak_kib(void) {
  char line[256];
  long kib = 0;
  FILE* const status = fopen("/proc/self/status", "r");
  if (status == NULL) exit(6);
  while (kib == 0 && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &kib);
  fclose(status);
  return kib;
}

int main(void) {
  long first = 0;
  for (int round = 0; round < 90; ++round) {
    drop(build(16, round));
    if (round == 5) first = peak_kib();
  }
  const long last = peak_kib();
  printf("%ld %ld\n", first, last);
  for (int round = 0; round < 200; ++round) use_pages();
  for (int round = 0; round < 3; ++round) drop(build(16, round));
  return 4 * last > 5 * first;
}
