/* Threads with few sampled accesses, whose memory others give away. threads_lists MODE */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "by_hand.h"

#define NOINLINE __attribute__((noinline))
enum { PAGE = 4096 / sizeof(long), PAGES = 3, THREADS = 64, ROUNDS = 200 };
enum { BYTES = PAGES * 4096 };

NOINLINE static long* message(void) { return malloc(BYTES + 4096); }
NOINLINE static long* reply(void) { return malloc(BYTES + 4096); }
NOINLINE static void* map_at(void* place) {
  return mmap(place, BYTES, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | (place == NULL ? 0 : MAP_FIXED), -1, 0);
}
NOINLINE static long* mapped_message(void) { return map_at(NULL); }
NOINLINE static void mapped_reply(void* place) { map_at(place); }

/* 8 longs of each of PAGES sampled lines, from the next page on: less than a list. */
static void* touch(void* array) {
  long* const pages = (long*)(((uintptr_t)array + 4095) & ~(uintptr_t)4095);
  for (long i = 0; i < PAGES * PAGE; ++i) STORE(pages[i], i);
  return NULL;
}

static void* touch_then_exit(void* array) {
  touch(array);
  pthread_exit(NULL);
}

static void in_thread(void* (*work)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, argument) != 0) abort();
  pthread_join(thread, NULL);
}

/* Each thread walks its own part of the array, a page at a time in turn with all others. A page's
 * sampled line is stored to four times over, which fills a list. */
enum { WALKERS = 8, WALKED = 64 };
static pthread_barrier_t turn;
static void* walk(void* part) {
  long* const pages = part;
  for (long page = 0; page < WALKED; ++page) {
    for (int again = 0; again < 4; ++again)
      for (long i = 0; i < PAGE; ++i) STORE(pages[page * PAGE + i], i);
    pthread_barrier_wait(&turn);
  }
  return NULL;
}
NOINLINE static long* walked(void) { return aligned_alloc(4096, WALKERS * WALKED * 4096l); }
static void walk_side_by_side(void) {
  long* const array = walked();
  pthread_t threads[WALKERS];
  pthread_barrier_init(&turn, NULL, WALKERS);
  for (long i = 0; i < WALKERS; ++i)
    if (pthread_create(&threads[i], NULL, walk, array + i * WALKED * PAGE) != 0) abort();
  for (int i = 0; i < WALKERS; ++i) pthread_join(threads[i], NULL);
}

static void replace(void* block) {
  free(block);
  if (reply() != block) abort();
}
static void* replace_mapping(void* mapping) {
  munmap(mapping, BYTES);
  mapped_reply(mapping);
  return NULL;
}

static int replace_mapping_then(void* mapping) { return replace_mapping(mapping) == NULL ? 3 : 4; }
static void in_thread_of_c11(int (*work)(void*), void* argument) {
  thrd_t thread;
  int result = 0;
  if (thrd_create(&thread, work, argument) != thrd_success) abort();
  if (thrd_join(thread, &result) != thrd_success || result != 3) abort();
}

static sem_t ready, done;
static long* box;
static void* worker(void* unused) {
  for (;;) {
    sem_wait(&ready);
    if (box == NULL) return unused;
    touch(box);
    sem_post(&done);
  }
}
static void let_touch(long* array) {
  box = array;
  sem_post(&ready);
  if (array != NULL) sem_wait(&done);
}

int main(int words, char** word) {
  if (words != 2) return 2;
  const char* mode = word[1];
  if (strcmp(mode, "short") == 0) {
    long* const all = aligned_alloc(4096, (size_t)THREADS * BYTES);
    for (long i = 0; i < THREADS; ++i)
      in_thread(i % 2 == 0 ? touch : touch_then_exit, all + i * PAGES * PAGE);
    return 0;
  }
  if (strcmp(mode, "side by side") == 0) {
    walk_side_by_side();
    return 0;
  }
  if (strncmp(mode, "first", 5) == 0) {
    long* const mapping = mapped_message();
    touch(mapping);
    if (strcmp(mode, "first of C11") == 0)
      in_thread_of_c11(replace_mapping_then, mapping);
    else
      in_thread(replace_mapping, mapping);
    return 0;
  }
  sem_init(&ready, 0, 0);
  sem_init(&done, 0, 0);
  pthread_t thread;
  if (pthread_create(&thread, NULL, worker, NULL) != 0) return 1;
  for (int i = 0; i < ROUNDS; ++i) {
    if (strcmp(mode, "blocks") == 0) {
      long* const block = message();
      let_touch(block);
      replace(block);
    } else if (strcmp(mode, "mappings") == 0) {
      long* const mapping = mapped_message();
      let_touch(mapping);
      replace_mapping(mapping);
    }
  }
  if (strcmp(mode, "fork") == 0) {
    long* const block = message();
    let_touch(block);
    touch(block);
    const pid_t child = fork();
    if (child == 0) {
      in_thread(touch, block);
      return 0;
    }
    waitpid(child, NULL, 0);
  }
  let_touch(NULL);
  pthread_join(thread, NULL);
  return 0;
}
