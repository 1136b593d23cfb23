/* A record is acknowledged while it is only in the page cache. */
#include "records.h"

static void append(int file, long offset, const struct record* record) {
  write_at(file, offset, record, sizeof *record);
}

static int whole(const struct record* record) {
  return record->bytes == record_bytes && record->sum == checksum(record->text, record->bytes);
}
