/* The ways a process can begin and end while it is being counted. lives MODE */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "by_hand.h"
#include "nearfar/mark.h"

#define NOINLINE __attribute__((noinline))
enum { COUNT = 1 << 17 }; /* 1 MiB of longs: 256 pages */

NOINLINE static long* make(void) { return aligned_alloc(4096, COUNT * sizeof(long)); }
static long sweep(long* array) {
  long sum = 0;
  for (int i = 0; i < COUNT; ++i) sum += LOAD(array[i], STREAM);
  return sum;
}
static void fill(long* array) {
  for (int i = 0; i < COUNT; ++i) STORE(array[i], i);
}

static void* thread(void* unused) {
  long local[1024];
  for (int i = 0; i < 1024; ++i) STORE(local[i], i);
  long* own = make();
  fill(own);
  sweep(own);
  free(own);
  return unused;
}

static long* shared;
static sigjmp_buf back;
static volatile int alarms;
static void on_alarm(int signal) {
  (void)signal;
  ++alarms;
  for (int i = 0; i < 4096; ++i) LOAD(shared[i], OPAQUE);
}
static void on_alarm_jump(int signal) {
  on_alarm(signal);
  siglongjmp(back, 1);
}
static void every_100us(void (*handler)(int)) {
  signal(SIGALRM, handler);
  struct itimerval timer = {{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &timer, 0);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  long* array = shared = make();
  fill(array);
  if (!strcmp(mode, "_exit")) _exit(3);
  if (!strcmp(mode, "abort")) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    abort();
  }
  if (!strcmp(mode, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(mode, "fork")) {
    for (int child = 0; child < 3; ++child) {
      if (fork() == 0) {
        sweep(array);
        fill(make());
        _exit(0);
      }
    }
    while (wait(0) > 0) {
    }
  }
  if (!strcmp(mode, "vfork")) {
    if (vfork() == 0) execl("/bin/true", "true", (char*)0);
    wait(0);
    sweep(array);
  }
  if (!strcmp(mode, "exec")) {
    execl("/proc/self/exe", argv[0], "again", (char*)0);
  }
  if (!strcmp(mode, "spawn")) {
    char command[4096];
    snprintf(command, sizeof command, "%s again", argv[0]);
    return system(command);
  }
  if (!strcmp(mode, "threads")) {
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i) pthread_create(&threads[i], 0, thread, 0);
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], 0);
  }
  if (!strcmp(mode, "cancel")) {
    pthread_t one;
    pthread_create(&one, 0, thread, 0);
    pthread_cancel(one);
    pthread_join(one, 0);
    sweep(array);
  }
  if (!strcmp(mode, "signals")) {
    every_100us(on_alarm);
    for (int i = 0; i < 300; ++i) sweep(array);
  }
  if (!strcmp(mode, "longjmp")) {
    sigsetjmp(back, 1);
    if (alarms == 0) every_100us(on_alarm_jump);
    while (alarms < 2000) sweep(array);
    signal(SIGALRM, SIG_IGN);
    NEARFAR_BEGIN("after");
    fill(array);
    NEARFAR_END("after", COUNT);
  }
  if (!strcmp(mode, "marks")) {
    for (int i = 0; i < 300; ++i) {
      char name[100];
      snprintf(name, sizeof name, "phase %d", i);
      NEARFAR_BEGIN(name);
      NEARFAR_END(name, 1);
    }
    NEARFAR_END("never begun", 2);
    NEARFAR_BEGIN("open");
    sweep(array);
  }
  if (!strcmp(mode, "plugin")) {
    void* plugin = dlopen(argv[2], RTLD_NOW);
    if (!plugin) {
      puts(dlerror());
      return 1;
    }
    long (*work)(void) = (long (*)(void))dlsym(plugin, "plugin_work");
    work();
  }
  if (!strcmp(mode, "limit")) {
    puts("alive");
  }
  if (!strcmp(mode, "serve")) {
    for (;;) sweep(array);
  }
  printf("%ld\n", sweep(array));
  return 0;
}
