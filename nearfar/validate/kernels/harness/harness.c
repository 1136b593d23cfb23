/* Runs a kernel.
 *
 *   KERNEL BYTES            prepares data and prints "ready HUGE_KIB PRESENT_KIB". Each input line
 *                           "run" starts a run; the answer is "ns NS SWITCHES": its CPU time, and
 *                           how often other work got the core. For a line "dependent" or
 *                           "independent", NS is the time of such a random read of the data. Exits
 *                           at the end of the input.
 *   KERNEL spin             keeps its core awake until it is killed; touches no memory.
 *   KERNEL place CPU PAGES NODE FILE WORDS...
 *                           becomes the program FILE on that CPU, without transparent huge pages if
 *                           PAGES is 4k, bound to that NODE unless it is -1.
 *   KERNEL BYTES once RUNS  for nearfar profile: warm-up, then RUNS runs as the phase "kernel".
 *
 * It dies with its parent. Exit code 1: a result was wrong.
 *
 * The child sets its CPU and memory here, not the parent after a fork: after a fork, all memory of
 * the parent is copied on write, and it would measure page faults instead of bandwidths.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

static void timed_reads(double (*read_ns)(uint64_t)) {
  const long before = switches();
  const double ns = read_ns((uint64_t)warm_up_accesses);
  printf("ns %.4f %ld\n", ns, switches() - before);
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

/* An idle core changes the clocks of other cores, and a hypervisor may move it when it wakes. The
 * loop has no pause instruction: after many of them, a hypervisor assumes a spin lock and runs
 * other work. The loop yields, because a lazily preemptive Linux kernel otherwise lets runnable
 * threads wait for its next tick, up to 4 ms. */
static void spin(void) {
  const int turns = 4096;
  for (;;) {
    for (int i = 0; i < turns; ++i) __asm__ volatile("");
    sched_yield();
  }
}

static int place_failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return 3;
}

/* Words: place CPU PAGES NODE FILE WORDS... */
static int place(char** words) {
  enum { most_nodes = 1024, bind_policy = 2 /* MPOL_BIND of linux/mempolicy.h */ };
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(strtoul(words[1], NULL, 10), &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) return place_failed("cannot choose the CPU");
  if (strcmp(words[2], "4k") == 0) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  const long node = strtol(words[3], NULL, 10);
  if (node >= 0 && node < most_nodes) {
    unsigned long mask[most_nodes / 64] = {0};
    mask[node / 64] = 1ul << (node % 64);
    if (syscall(SYS_set_mempolicy, bind_policy, mask, (unsigned long)most_nodes) != 0)
      return place_failed("cannot bind memory to the node");
  }
  execv(words[4], words + 5);
  return place_failed(words[4]);
}

int main(int count, char** words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (count > 6 && strcmp(words[1], "place") == 0) return place(words + 1);
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
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strcmp(line, "dependent\n") == 0)
      timed_reads(kernel_dependent_ns);
    else if (strcmp(line, "independent\n") == 0)
      timed_reads(kernel_independent_ns);
    else if (strcmp(line, "run\n") == 0)
      timed_run();
    else
      return 2;
  }
  return 0;
}
