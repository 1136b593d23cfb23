/* Three threads append to one log; crash_threads POOL [check]. An entry is flushed under the lock,
 * but the fence comes after it, so that another thread may count it in before it is durable. With
 * -DRIGHT the fence comes first. */
#include <libpmem.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nearfar/crash.h"

#define EACH 3
struct log {
  uint64_t length;
  uint64_t padding[7];
  uint64_t entries[64][8];
};
static struct log* pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t taken;

static void append(uint64_t value) {
  pthread_mutex_lock(&lock);
  const uint64_t at = taken++;
  ((volatile uint64_t*)pool->entries[at])[0] = value;
  pmem_flush(pool->entries[at], 64);
#ifdef RIGHT
  pmem_drain();
#else
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
#endif
  pool->length = taken;
  pmem_flush(&pool->length, 8);
  pthread_mutex_unlock(&lock);
  pmem_drain();
}

static void* work(void* data) {
  for (uint64_t i = 0; i < EACH; ++i) {
    const uint64_t number = (uint64_t)(uintptr_t)data * 100 + i;
    NEARFAR_CRASH_BEGIN(number);
    append(number + 1);
    NEARFAR_CRASH_END(number);
  }
  return NULL;
}

static int check(const char* path) {
  static struct log log;
  FILE* file = fopen(path, "rb");
  if (file == NULL || fread(&log, sizeof log, 1, file) != 1) return 2;
  for (uint64_t i = 0; i < log.length; ++i) {
    if (log.entries[i][0] == 0) return printf("an entry is not there\n"), 1;
  }
  return 0;
}

int main(int count, char** words) {
  if (count == 3 && strcmp(words[2], "check") == 0) return check(words[1]);
  if (count != 2) return 2;
  size_t bytes = 0;
  pool = pmem_map_file(words[1], sizeof *pool, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (pool == NULL) return 1;
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  pmem_unmap(pool, bytes);
  return 0;
}
