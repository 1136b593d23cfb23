/* Each record is synced before it is acknowledged, and read only if its checksum is right. */
#include "records.h"

static void append(int file, long offset, const struct record* record) {
  write_at(file, offset, record, sizeof *record);
  must(fdatasync(file) == 0, "fdatasync");
}

static int whole(const struct record* record) {
  return record->bytes == record_bytes && record->sum == checksum(record->text, record->bytes);
}
