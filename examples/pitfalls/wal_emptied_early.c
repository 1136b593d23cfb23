/* The log is emptied before the data is durable: nothing repairs torn blocks. */
#include "wal.h"

static void update(int log, int data, const struct entry* entry) {
  write_at(log, 0, entry, sizeof *entry);
  must(fsync(log) == 0, "fsync log");
  write_blocks(data, entry);
  must(ftruncate(log, 0) == 0 && fsync(log) == 0, "ftruncate");
  must(fsync(data) == 0, "fsync data");
}

static int whole(const struct entry* entry) {
  return entry->sum == checksum(entry->blocks, sizeof entry->blocks);
}
