/* fork, exec of itself, variable arguments, signals that interrupt loops, _exit. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ticks = 0;
static int* counters;

static void on_tick(int number) {
  (void)number;
  for (int i = 0; i < 100; i++) counters[i]++;
  ticks++;
}

static long sum_of(int count, ...) {
  va_list list;
  va_start(list, count);
  long sum = 0;
  for (int i = 0; i < count; i++) sum += va_arg(list, int);
  va_end(list);
  return sum;
}

int main(int count, char** words) {
  if (count > 1) {
    printf("child of exec: %s\n", words[1]);
    fflush(stdout);
    _exit(7);
  }
  printf("%ld\n", sum_of(9, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  counters = calloc(100, sizeof *counters);
  signal(SIGALRM, on_tick);
  const struct itimerval often = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &often, NULL);
  long* data = calloc(1 << 16, sizeof *data);
  unsigned long rounds = 0;
  while (ticks < 5 && rounds < 100000) {
    for (int i = 0; i < 1 << 16; i++) data[i] += i;
    rounds++;
  }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  int right = counters[0] == ticks;
  for (int i = 0; i < 1 << 16; i++) right &= data[i] == (long)rounds * i;
  printf("signals %d\n", right);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1 << 16; i++) data[i] = 1;
    execl("/proc/self/exe", words[0], "again", (char*)NULL);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("status %d, untouched %d\n", WEXITSTATUS(status), data[2] == (long)rounds * 2);
  free(data);
  free(counters);
  return 0;
}
