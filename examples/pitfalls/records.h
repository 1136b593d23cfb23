// A log of records, each with its length and checksum. Recovery drops what follows the last whole
// record.
#include "data.h"

enum { record_bytes = 1500 };

struct record {
  unsigned bytes;
  unsigned sum;
  char text[record_bytes];
};

static void append(int file, long offset,
                   const struct record* record);  // the wrong programs differ
static int whole(const struct record* record);    // here or here

static void fill(int number, struct record* record) {
  memset(record->text, '0' + number, record_bytes);
  record->bytes = record_bytes;
  record->sum = checksum(record->text, record_bytes);
}

static void run(void) {
  struct record record;
  const int file = open("log", O_CREAT | O_WRONLY, 0644);
  must(file >= 0, "log");
  sync_folder();
  for (int number = 0; number < 4; ++number) {
    fill(number, &record);
    append(file, number * (long)sizeof record, &record);
    acknowledge(number);
  }
}

static int check(int last) {
  struct record record;
  struct record expected;
  int number = 0;
  const int file = open("log", O_RDONLY);
  while (file >= 0 && read(file, &record, sizeof record) == (ssize_t)sizeof record) {
    if (!whole(&record)) break;
    fill(number, &expected);
    if (memcmp(record.text, expected.text, record_bytes) != 0) return refuse("garbage in", number);
    number += 1;
  }
  return number > last ? 0 : refuse("lost record", number);
}
