/* sync_file_range writes pages, but neither the file's size nor the disk's cache. */
#define _GNU_SOURCE
#include "records.h"

static void append(int file, long offset, const struct record* record) {
  write_at(file, offset, record, sizeof *record);
  const unsigned flags =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  must(sync_file_range(file, offset, sizeof *record, flags) == 0, "sync_file_range");
}

static int whole(const struct record* record) {
  return record->bytes == record_bytes && record->sum == checksum(record->text, record->bytes);
}
