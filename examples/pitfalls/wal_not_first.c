/* Log and data are synced together: the data may be torn before the log is durable. */
#include "wal.h"

static void update(int log, int data, const struct entry* entry) {
  write_at(log, 0, entry, sizeof *entry);
  write_blocks(data, entry);
  must(fsync(log) == 0, "fsync log");
  must(fsync(data) == 0, "fsync data");
  must(ftruncate(log, 0) == 0 && fsync(log) == 0, "ftruncate");
}

static int whole(const struct entry* entry) {
  return entry->sum == checksum(entry->blocks, sizeof entry->blocks);
}
