// Two large variables and a small one.
#include <stdio.h>
#include <stdlib.h>

double grid[1 << 20];
static double other_grid[1 << 19];
static int few[1000];

int main(int argc, char** argv) {
  const long rounds = argc > 1 ? atol(argv[1]) : 3;
  double sum = 0;
  for (long round = 0; round < rounds; ++round) {
    for (long i = 0; i < 1 << 20; ++i) grid[i] += (double)i;
    for (long i = 0; i < 1 << 19; ++i) other_grid[i] += grid[2 * i];
    for (long i = 0; i < 1000; ++i) few[i] += (int)other_grid[i];
  }
  for (long i = 0; i < 1 << 19; i += 1000) sum += other_grid[i] + few[i % 1000];
  printf("%.0f\n", sum);
  return 0;
}
