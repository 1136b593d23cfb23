/* Runs a kernel.
 *
 *   KERNEL BYTES            prepares, says "ready HUGE_KIB PRESENT_KIB", then does one run for each
 *                           line it reads and answers "ns NS SWITCHES" (CPU time of one run, and
 *                           how often others had the core meanwhile); ends with its input.
 *   KERNEL spin             keeps its core awake until it is killed; touches no memory.
 *   KERNEL BYTES once RUNS  for nearfar profile: warm-up, then RUNS runs as the phase "kernel".
 *
 * Exit code 1: a result was wrong.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "kernel.h"
#include "nearfar/mark.h"

/* Accesses before every timed run: a cold chase reads 30 % high (TLB, lines of page tables). */
static const double warm_up_accesses = 100000;

static uint64_t done;

static double cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static long switches(void) {
  struct rusage used;
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nivcsw;
}

static void check(uint64_t found, uint64_t first, uint64_t count) {
  const uint64_t expected = kernel_expected(first, count);
  if (found == expected) return;
  fprintf(stderr, "wrong: found %llu, expected %llu\n", (unsigned long long)found,
          (unsigned long long)expected);
  exit(1);
}

static void perform(uint64_t count) {
  const uint64_t first = done;
  done += count;
  check(kernel_perform(first, count), first, count);
}

static void warm_up(void) { perform((uint64_t)(warm_up_accesses / kernel_accesses) + 1); }

static void timed_run(void) {
  warm_up();
  const uint64_t first = done;
  done += kernel_operations;
  const long before = switches();
  const double began = cpu_ns();
  const uint64_t found = kernel_perform(first, kernel_operations);
  const double ns = cpu_ns() - began;
  printf("ns %.0f %ld\n", ns, switches() - before);
  check(found, first, kernel_operations);
  fflush(stdout);
}

/* KiB of a key such as "Rss:" in the kernel's account of this process's memory; 0: not there. */
static long account_kib(const char* key) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  long kib = 0;
  char text[256];
  while (file != NULL && fgets(text, sizeof text, file) != NULL)
    if (strncmp(text, key, strlen(key)) == 0) kib = strtol(text + strlen(key), NULL, 10);
  if (file != NULL) fclose(file);
  return kib;
}

static void once(uint64_t runs) {
  warm_up();
  const uint64_t first = done, count = runs * kernel_operations;
  NEARFAR_BEGIN("kernel");
  const uint64_t found = kernel_perform(first, count);
  NEARFAR_END("kernel", (double)count);
  check(found, first, count);
}

/* An idle core changes the clocks of the others. */
static void spin(void) {
  for (;;) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }
}

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], "spin") == 0) spin();
  const uint64_t bytes = count > 1 ? strtoull(words[1], NULL, 10) : 0;
  const uint64_t runs = count == 4 ? strtoull(words[3], NULL, 10) : 0;
  if (bytes < 1u << 20 || count == 3 || count > 4 || (count == 4 && runs == 0)) {
    fprintf(stderr, "usage: %s BYTES [once RUNS]; at least 1 MiB\n", words[0]);
    return 2;
  }
  kernel_prepare(bytes);
  if (runs > 0) {
    once(runs);
    return 0;
  }
  printf("ready %ld %ld\n", account_kib("AnonHugePages:"), account_kib("Rss:"));
  fflush(stdout);
  char line[16];
  while (fgets(line, sizeof line, stdin) != NULL) timed_run();
  return 0;
}
