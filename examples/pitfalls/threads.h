/* Entries that two threads fill and the main thread publishes: shared by threads_*.c.
 * `PROGRAM POOL` writes; `PROGRAM POOL check` checks: a published entry is whole. */
#ifndef THREADS_H
#define THREADS_H

#include <libpmem.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define THREADS 2

struct entry {
  uint64_t value; /* of worker i: i + 1 */
  uint64_t padding[7];
};
struct board {
  uint64_t length;
  uint64_t padding[7];
  struct entry entries[THREADS];
};

/* Differs by program. */
void fill(struct board* board, int worker);
void finish(struct board* board);

static struct board* board;

static void* work(void* worker) {
  fill(board, (int)(uintptr_t)worker);
  return NULL;
}

int main(int count, char** words) {
  size_t bytes = 0;
  if (count < 2) return 2;
  board = pmem_map_file(words[1], sizeof *board, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (board == NULL) return 2;
  if (count > 2) {
    for (uint64_t i = 0; i < board->length; ++i) {
      if (i < THREADS && board->entries[i].value == i + 1) continue;
      printf("entry %d of %d is not there\n", (int)i, (int)board->length);
      return 1;
    }
    return 0;
  }
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  finish(board);
  pmem_unmap(board, bytes);
  return 0;
}

#endif
