/* A record that was torn by the power cut has the right length, and no checksum reveals it. */
#include "records.h"

static void append(int file, long offset, const struct record* record) {
  write_at(file, offset, record, sizeof *record);
  must(fdatasync(file) == 0, "fdatasync");
}

static int whole(const struct record* record) { return record->bytes == record_bytes; }
