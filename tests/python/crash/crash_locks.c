/* Threads store to one word of a pool, each in the order that `crash_locks POOL KIND` names:
 * `timed` timed and clock forms of locks, `once` pthread_once, `many` 300 threads one after
 * another, `signal` a lock while a signal handler posts a semaphore, `c11` C11's locks; `write`,
 * `wide` and `c11-unlocked` in no order, by pwrite after a locked instruction, by a store of three
 * lines, and by C11 threads. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t* pool;
static int file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t permits, posts;

static void store(int word, uint64_t value) {
  pool[word] = value;
  __asm__ volatile("clflush %0\n\tsfence" ::"m"(pool[word]) : "memory");
}

static void* timed(void* number) {
  const struct timespec until = {INT32_MAX, 0};
  pthread_mutex_timedlock(&lock, &until);
  store(0, (uint64_t)number);
  pthread_mutex_unlock(&lock);
  pthread_mutex_clocklock(&lock, CLOCK_REALTIME, &until);
  store(8, (uint64_t)number);
  pthread_mutex_unlock(&lock);
  pthread_rwlock_timedwrlock(&shared, &until);
  store(16, (uint64_t)number);
  pthread_rwlock_unlock(&shared);
  sem_timedwait(&permits, &until);
  store(24, (uint64_t)number);
  sem_post(&permits);
  return NULL;
}

static void first(void) { store(0, 7); }

static void* after_first(void* number) {
  pthread_once(&once, first);
  if (number == NULL) store(0, 8);
  return NULL;
}

static void* many(void* number) {
  pthread_mutex_lock(&lock);
  store(0, (uint64_t)number);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void post(int number) {
  (void)number;
  sem_post(&posts);
}

static void* often(void* number) {
  for (int i = 0; i < 3000; ++i) {
    pthread_mutex_lock(&lock);
    if (i % 500 == 0) store(0, (uint64_t)number + i);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

static void* write_after_lock(void* number) {
  const uint64_t value = (uint64_t)number + 1;
  __asm__ volatile("lock addq $1, %0" : "+m"(pool[0])::"cc");
  pwrite(file, &value, sizeof value, 128);
  return NULL;
}

static void* wide(void* number) {
  if (number == NULL) {
    volatile uint64_t* to = pool;
    uint64_t bytes = 192;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(7) : "memory");
  } else {
    pool[16] = 2;
  }
  return NULL;
}

static mtx_t mutex;
static cnd_t turned;
static once_flag made = ONCE_FLAG_INIT;
static int turn = 1;

static void make(void) { mtx_init(&mutex, mtx_timed); }

static int in_turns(void* number) {
  const struct timespec until = {INT32_MAX, 0};
  call_once(&made, make);
  if (mtx_timedlock(&mutex, &until) != thrd_success) return 1;
  while (turn != (int)(uint64_t)number) cnd_wait(&turned, &mutex);
  turn = 0;
  store(0, (uint64_t)number);
  cnd_broadcast(&turned);
  mtx_unlock(&mutex);
  thrd_yield();
  while (mtx_trylock(&mutex) != thrd_success) thrd_sleep(&until, NULL);
  store(8, (uint64_t)number);
  mtx_unlock(&mutex);
  return 7;
}

static int unlocked(void* number) {
  store(0, (uint64_t)number + 1);
  return 7;
}

static int run_c11(thrd_start_t start) {
  thrd_t threads[2];
  int results[2] = {0, 0};
  for (uint64_t i = 0; i < 2; ++i) {
    if (thrd_create(&threads[i], start, (void*)i) != thrd_success) return 2;
  }
  for (int i = 0; i < 2; ++i) thrd_join(threads[i], &results[i]);
  return results[0] == 7 && results[1] == 7 ? 0 : 2;
}

int main(int count, char** words) {
  if (count < 3) return 2;
  file = open(words[1], O_RDWR | O_CREAT, 0600);
  if (ftruncate(file, 65536) != 0) return 2;
  pool = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const char* const kind = words[2];
  sem_init(&permits, 0, 1);
  sem_init(&posts, 0, 0);
  if (strcmp(kind, "c11") == 0) return run_c11(in_turns);
  if (strcmp(kind, "c11-unlocked") == 0) return run_c11(unlocked);
  if (strcmp(kind, "many") == 0) {
    for (uint64_t i = 1; i <= 300; ++i) {
      pthread_t thread;
      pthread_create(&thread, NULL, many, (void*)i);
      pthread_join(thread, NULL);
    }
    return 0;
  }
  if (strcmp(kind, "signal") == 0) {
    const struct itimerval often_ends = {{0, 300}, {0, 300}};
    signal(SIGALRM, post);
    setitimer(ITIMER_REAL, &often_ends, NULL);
  }
  void* (*const start)(void*) = strcmp(kind, "timed") == 0    ? timed
                                : strcmp(kind, "once") == 0   ? after_first
                                : strcmp(kind, "signal") == 0 ? often
                                : strcmp(kind, "wide") == 0   ? wide
                                                              : write_after_lock;
  pthread_t threads[2];
  for (uint64_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, start, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  __asm__ volatile("clflush %0\n\tclflush %1\n\tsfence" ::"m"(pool[0]), "m"(pool[16]) : "memory");
  return 0;
}
