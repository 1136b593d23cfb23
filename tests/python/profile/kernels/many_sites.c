/* Allocations from ever deeper recursion through two functions: more call stacks than a small
 * table holds. many_sites DEPTH */
#include <stdio.h>
#include <stdlib.h>

#include "by_hand.h"

long odd(unsigned path, int depth);

static long leaf(void) {
  long* block = malloc(9000);
  STORE(block[600], 1);
  return block[600];
}
__attribute__((noinline)) long even(unsigned path, int depth) {
  if (depth == 0) return leaf() + 1;
  if (path & 1) return odd(path >> 1, depth - 1) + 2;
  return even(path >> 1, depth - 1) + 3;
}
__attribute__((noinline)) long odd(unsigned path, int depth) {
  if (depth == 0) return leaf() + 4;
  if (path & 1) return even(path >> 1, depth - 1) + 5;
  return odd(path >> 1, depth - 1) + 6;
}

int main(int argc, char** argv) {
  const int depth = argc > 1 ? atoi(argv[1]) : 10;
  long sum = 0;
  for (unsigned path = 0; path < 1u << depth; ++path) sum += even(path, depth);
  printf("%ld\n", sum);
  return 0;
}
