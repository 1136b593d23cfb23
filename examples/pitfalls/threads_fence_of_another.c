/* Wrong: each thread flushes its entry, and one fence of the main thread should order them all. A
 * fence orders only the flushes of its own processor. */
#include "threads.h"

void fill(struct board* board, int worker) {
  board->entries[worker].value = (uint64_t)(worker + 1);
  pmem_flush(&board->entries[worker], sizeof(struct entry));
}
void finish(struct board* board) {
  pmem_drain();
  board->length = THREADS;
  pmem_persist(&board->length, sizeof board->length);
}
