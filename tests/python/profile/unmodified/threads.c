/* Four threads, two of POSIX and two of C11, each with a block of its own, and a signal that
 * arrives again and again. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <threads.h>

enum { threads = 4, lines = 1 << 14, rounds = 4 };

static pthread_barrier_t all_run;
static volatile sig_atomic_t alarms;
static uint64_t in_handler[64];

static void on_alarm(int number) {
  (void)number;
  in_handler[alarms++ % 64]++;
}

__attribute__((noinline)) static uint64_t* make_block(void) {
  return aligned_alloc(4096, (size_t)lines * 64);
}

static void* work(void* data) {
  (void)data;
  pthread_barrier_wait(&all_run);
  uint64_t* block = make_block();
  uint64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int line = 0; line < lines; ++line) sum += ++block[line * 8];
  }
  free(block);
  return (void*)sum;
}

static int work_of_c11(void* data) { return work(data) != NULL; }

int main(void) {
  signal(SIGALRM, on_alarm);
  const struct itimerval often = {{0, 2000}, {0, 2000}};
  setitimer(ITIMER_REAL, &often, NULL);
  pthread_barrier_init(&all_run, NULL, threads);
  pthread_t running[threads / 2];
  thrd_t running_c11[threads / 2];
  for (int i = 0; i < threads / 2; ++i) {
    pthread_create(&running[i], NULL, work, NULL);
    if (thrd_create(&running_c11[i], work_of_c11, NULL) != thrd_success) return 2;
  }
  uint64_t sum = 0;
  for (int i = 0; i < threads / 2; ++i) {
    void* result = NULL;
    int result_c11 = 0;
    pthread_join(running[i], &result);
    thrd_join(running_c11[i], &result_c11);
    sum += (uint64_t)result + (uint64_t)result_c11;
  }
  printf("alarms %d\n", alarms > 0);
  return sum == 0;
}
