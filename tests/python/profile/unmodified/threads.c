/* Four threads, each with a block of its own, and a signal that arrives again and again. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

enum { threads = 4, lines = 1 << 14, rounds = 4 };

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
  uint64_t* block = make_block();
  uint64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int line = 0; line < lines; ++line) sum += ++block[line * 8];
  }
  free(block);
  return (void*)sum;
}

int main(void) {
  signal(SIGALRM, on_alarm);
  const struct itimerval often = {{0, 2000}, {0, 2000}};
  setitimer(ITIMER_REAL, &often, NULL);
  pthread_t running[threads];
  for (int i = 0; i < threads; ++i) pthread_create(&running[i], NULL, work, NULL);
  uint64_t sum = 0;
  for (int i = 0; i < threads; ++i) {
    void* result = NULL;
    pthread_join(running[i], &result);
    sum += (uint64_t)result;
  }
  printf("alarms %d\n", alarms > 0);
  return sum == 0;
}
