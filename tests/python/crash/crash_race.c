/* Two threads increase one number in a pool, each by one instruction; with -DLOCKED it is atomic.
 * `crash_race POOL check` requires that the number is whole once it is said to be. */
#include <libpmem.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define EACH 4
static struct {
  uint64_t number;
  uint64_t padding[7];
  uint64_t done;
}* pool;

#ifdef LOCKED
#define ADD "lock addq $1, %0"
#else
#define ADD "addq $1, %0"
#endif

static void* work(void* unused) {
  for (int i = 0; i < EACH; ++i) {
    __asm__ volatile(ADD : "+m"(pool->number) : : "cc");
    pmem_persist(&pool->number, sizeof pool->number);
  }
  return unused;
}

int main(int count, char** words) {
  size_t bytes = 0;
  if (count < 2) return 2;
  pool = pmem_map_file(words[1], 4096, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (pool == NULL) return 2;
  if (count > 2) return pool->done != 0 && pool->number != 2 * EACH;
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  pool->done = 1;
  pmem_persist(&pool->done, sizeof pool->done);
  pmem_unmap(pool, bytes);
  return 0;
}
