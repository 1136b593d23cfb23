/* What the kernels share: arguments, random numbers, timing of the kernel phase, the check.
 *
 *   KERNEL SIZE REPETITIONS
 *
 * prints its check on standard output, which must be the same however it was compiled, and
 * "kernel_cpu_s SECONDS" on standard error. Exit code 1: the result is wrong.
 */
#ifndef NEARFAR_KERNEL_H
#define NEARFAR_KERNEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nearfar/mark.h"

#define KEEP __attribute__((noinline))

struct kernel {
  uint64_t size;
  uint64_t repetitions;
  double began;
  double seconds;
};

static inline double kernel_cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline struct kernel kernel_arguments(int count, char** words, uint64_t size,
                                             uint64_t repetitions) {
  struct kernel kernel = {size, repetitions, 0, 0};
  if (count > 1) kernel.size = strtoull(words[1], NULL, 10);
  if (count > 2) kernel.repetitions = strtoull(words[2], NULL, 10);
  if (count > 3 || kernel.size == 0 || kernel.repetitions == 0) {
    fprintf(stderr, "usage: %s [SIZE [REPETITIONS]], both positive\n", words[0]);
    exit(2);
  }
  return kernel;
}

static inline void kernel_begin(struct kernel* kernel) {
  NEARFAR_BEGIN("kernel");
  kernel->began = kernel_cpu_seconds();
}

static inline void kernel_end(struct kernel* kernel, double operations) {
  kernel->seconds = kernel_cpu_seconds() - kernel->began;
  NEARFAR_END("kernel", operations);
}

static inline int kernel_check(const struct kernel* kernel, uint64_t result, uint64_t expected) {
  printf("check %llu\n", (unsigned long long)result);
  fprintf(stderr, "kernel_cpu_s %.6f\n", kernel->seconds);
  if (result == expected) return 0;
  fprintf(stderr, "wrong: expected %llu\n", (unsigned long long)expected);
  return 1;
}

/* splitmix64: its sequence visits every 64-bit value, and has no bad seed. */
static inline uint64_t kernel_mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15ull;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

/* Memory that begins at a page, so that closed forms of lines touched are exact. */
static inline void* kernel_allocate(uint64_t bytes) {
  void* memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory == NULL) {
    fprintf(stderr, "no memory for %llu bytes\n", (unsigned long long)bytes);
    exit(3);
  }
  return memory;
}

#endif
