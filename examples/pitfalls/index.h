// Values in one file, their count in another: each value that is counted is there.
#include "data.h"

static void add(int values, int count, int number);  // the wrong programs differ here

static void run(void) {
  const int values = open("values", O_CREAT | O_WRONLY, 0644);
  const int count = open("count", O_CREAT | O_WRONLY, 0644);
  must(values >= 0 && count >= 0, "open");
  write_at(count, 0, &(int){0}, sizeof(int));
  must(fsync(count) == 0, "fsync count");
  sync_folder();
  for (int number = 0; number < 4; ++number) {
    acknowledge(number);
    add(values, count, number);
  }
}

static int check(int last) {
  int counted = 0;
  if (last < 0) return 0;  // nothing was promised yet
  const int values = open("values", O_RDONLY);
  const int count = open("count", O_RDONLY);
  if (count >= 0 && read(count, &counted, sizeof counted) != (ssize_t)sizeof counted) counted = 0;
  for (int number = 0; number < counted; ++number) {
    int value = 0;
    const long offset = number * 512L;
    if (pread(values, &value, sizeof value, offset) != (ssize_t)sizeof value || value != number + 7)
      return refuse("counted and missing:", number);
  }
  return counted >= last ? 0 : refuse("lost value", counted);
}
