/* A reference for idle latency: a chase in an order of its own through a memory file.
   latency_chase DESCRIPTOR BYTES CPU: links the last word of each line of 64 B of the file's first
   BYTES into a single random cycle, and prints "linked". For each byte on stdin it follows the
   cycle, 20 ms to warm up and 15 ms timed, and prints the ns per load. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { LINE = 64, WORD = 56, FIRST_LOADS = 2000000 };
static const double SAMPLE_NS = 15e6, WARM_UP_NS = 20e6;

static uint64_t state = 88172645463325252u;

static uint64_t random_below(uint64_t bound) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % bound;
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

static char* follow(char* at, long loads) {
  for (long i = 0; i < loads; i++) at = *(char* volatile*)at;
  return at;
}

int main(int count, char** words) {
  if (count != 4) return 2;
  size_t bytes = strtoull(words[2], NULL, 10), lines = bytes / LINE;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(atoi(words[3]), &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return 1;
  char* memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, atoi(words[1]), 0);
  uint32_t* order = malloc(lines * sizeof *order);
  if (memory == MAP_FAILED || order == NULL) return 1;
  for (size_t i = 0; i < lines; i++) order[i] = i;
  for (size_t i = lines - 1; i > 0; i--) { /* Sattolo: one cycle through all lines */
    size_t j = random_below(i);
    uint32_t line = order[i];
    order[i] = order[j];
    order[j] = line;
  }
  for (size_t i = 0; i < lines; i++)
    *(char**)(memory + i * LINE + WORD) = memory + (size_t)order[i] * LINE + WORD;
  free(order);

  double begin = now_ns();
  char* at = follow(memory + WORD, FIRST_LOADS);
  const double loads_per_ns = FIRST_LOADS / (now_ns() - begin);
  const long loads = SAMPLE_NS * loads_per_ns + 1, warm_up = WARM_UP_NS * loads_per_ns;
  puts("linked");
  fflush(stdout);
  while (getchar() != EOF) {
    at = follow(at, warm_up);
    begin = now_ns();
    at = follow(at, loads);
    printf("%.4f\n", at == NULL ? 0.0 : (now_ns() - begin) / loads);
    fflush(stdout);
  }
  return 0;
}
