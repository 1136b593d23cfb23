/* A thread fills slots and another empties them, ordered by a barrier, a condition and a semaphore;
 * no two stores to a slot are made under one lock. `crash_handover POOL check` checks. */
#include <libpmem.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

#define EACH 3
static struct {
  uint64_t filled;
  uint64_t padding[7];
  uint64_t slots[EACH][8];
  uint64_t emptied;
}* pool;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fills = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t begin;
static sem_t ends;

static void store(uint64_t* at, uint64_t value) {
  *(volatile uint64_t*)at = value;
  pmem_persist(at, sizeof *at);
}

static void* fill(void* unused) {
  pthread_barrier_wait(&begin);
  for (uint64_t i = 0; i < EACH; ++i) {
    store(pool->slots[i], i + 1);
    pthread_mutex_lock(&lock);
    store(&pool->filled, i + 1);
    pthread_cond_signal(&fills);
    pthread_mutex_unlock(&lock);
  }
  store(&pool->emptied, 0);
  sem_post(&ends);
  return unused;
}

static void* empty(void* unused) {
  pthread_barrier_wait(&begin);
  for (uint64_t i = 0; i < EACH; ++i) {
    pthread_mutex_lock(&lock);
    while (pool->filled <= i) pthread_cond_wait(&fills, &lock);
    pthread_mutex_unlock(&lock);
    store(pool->slots[i], 100);
  }
  sem_wait(&ends);
  store(&pool->emptied, EACH);
  return unused;
}

int main(int count, char** words) {
  size_t bytes = 0;
  if (count < 2) return 2;
  pool = pmem_map_file(words[1], sizeof *pool, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (pool == NULL) return 2;
  if (count > 2) return pool->emptied > pool->filled;
  pthread_t threads[2];
  pthread_barrier_init(&begin, NULL, 2);
  sem_init(&ends, 0, 0);
  pthread_create(&threads[0], NULL, fill, NULL);
  pthread_create(&threads[1], NULL, empty, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  pmem_unmap(pool, bytes);
  return 0;
}
