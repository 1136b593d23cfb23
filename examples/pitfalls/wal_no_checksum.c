/* Recovery accepts any log of the right size as complete: its blocks may be missing. */
#include "wal.h"

static void update(int log, int data, const struct entry* entry) {
  write_at(log, 0, entry, sizeof *entry);
  must(fsync(log) == 0, "fsync log");
  write_blocks(data, entry);
  must(fsync(data) == 0, "fsync data");
  must(ftruncate(log, 0) == 0 && fsync(log) == 0, "ftruncate");
}

static int whole(const struct entry* entry) { return entry->number > 0; }
