/* 300 live threads allocate; then another writes an array of 16 MiB, the first accesses of all. */
#include <pthread.h>
#include <stdlib.h>

#include "by_hand.h"

enum { THREADS = 300, BLOCK = 8192, LINE = 64, ARRAY = 16 << 20 };
static pthread_barrier_t allocated, written;

static void* allocate(void* unused) {
  char* volatile block = malloc(BLOCK);
  free(block);
  pthread_barrier_wait(&allocated);
  pthread_barrier_wait(&written);
  return unused;
}

__attribute__((noinline)) static char* make_array(size_t bytes) { return malloc(bytes); }

static void* write_all(void* array) {
  for (size_t i = 0; i < ARRAY; i += LINE) STORE(((char*)array)[i], 1);
  return array;
}

int main(void) {
  pthread_t threads[THREADS];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1 << 17);
  pthread_barrier_init(&allocated, NULL, THREADS + 1);
  pthread_barrier_init(&written, NULL, THREADS + 1);
  for (int i = 0; i < THREADS; ++i)
    if (pthread_create(&threads[i], &small, allocate, NULL) != 0) return 1;
  pthread_barrier_wait(&allocated);
  pthread_t writer;
  if (pthread_create(&writer, NULL, write_all, make_array(ARRAY)) != 0) return 1;
  pthread_join(writer, NULL);
  pthread_barrier_wait(&written);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  return 0;
}
