/* Wrong: the threads only store. The end of a thread makes nothing durable. */
#include "threads.h"

void fill(struct board* board, int worker) {
  board->entries[worker].value = (uint64_t)(worker + 1);
}
void finish(struct board* board) {
  board->length = THREADS;
  pmem_persist(&board->length, sizeof board->length);
}
