/* One thread writes an array of argument 1 KiB, then another reads it twice, in order. */
#include <pthread.h>
#include <stdlib.h>

#include "by_hand.h"

enum { STEP = 8 }; /* longs in a line */
static long count;
static long* array;

static void* write_all(void* unused) {
  for (long i = 0; i < count; i += STEP) STORE(array[i], i);
  return unused;
}

static void* read_all(void* sum) {
  for (int round = 0; round < 2; ++round)
    for (long i = 0; i < count; i += STEP) *(long*)sum += LOAD(array[i], STREAM);
  return sum;
}

__attribute__((noinline)) static long* make_array(long bytes) { return malloc((size_t)bytes); }

int main(int words, char** word) {
  if (words != 2) return 2;
  const long bytes = atol(word[1]) << 10;
  count = bytes / (long)sizeof(long);
  array = make_array(bytes);
  long sum = 0;
  void* (*work[])(void*) = {write_all, read_all};
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work[i], &sum) != 0) return 1;
    pthread_join(thread, NULL);
  }
  return sum == 0;
}
