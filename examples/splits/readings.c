/* Readings whose values are summed up again and again; a few notes are read. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t readings = 1000000;
enum { ROUNDS = 10 };

#ifdef SPLIT
struct reading {
  double value;
};
struct rest {
  uint64_t time;
  char note[104];
  uint64_t checked;
};
#define REST(i) rests[i]
static struct rest* rests;
#else
struct reading {
  double value;
  uint64_t time;
  char note[104];
  uint64_t checked;
};
#define REST(i) all[i]
#endif
static struct reading* all;

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

__attribute__((noinline)) static double sum_above(double least) {
  double sum = 0;
  for (uint32_t i = 0; i < readings; ++i)
    if (all[i].value > least) sum += all[i].value;
  return sum;
}

__attribute__((noinline)) static uint64_t check(uint32_t i) {
  REST(i).checked += 1;
  return REST(i).time + (uint64_t)REST(i).note[i % 104];
}

int main(int argc, char** argv) {
  if (argc > 1) readings = (uint32_t)strtoul(argv[1], NULL, 10);
  all = calloc(readings, sizeof *all);
#ifdef SPLIT
  rests = calloc(readings, sizeof *rests);
#endif
  for (uint32_t i = 0; i < readings; ++i) {
    all[i].value = (double)(mixed(i) % 1000);
    REST(i).time = i;
    memset(REST(i).note, 'n', sizeof REST(i).note);
  }
  double sum = 0;
  uint64_t checks = 0;
  for (unsigned round = 0; round < ROUNDS; ++round) {
    sum += sum_above(round * 10.0);
    for (uint32_t i = round; i < readings; i += 64) checks += check(i);
  }
  printf("%.0f %llu\n", sum, (unsigned long long)checks);
  return 0;
}
