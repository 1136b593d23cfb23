/* The value is synced before it is counted. */
#include "index.h"

static void add(int values, int count, int number) {
  const int value = number + 7;
  const int counted = number + 1;
  write_at(values, number * 512L, &value, sizeof value);
  must(fdatasync(values) == 0, "fdatasync values");
  write_at(count, 0, &counted, sizeof counted);
  must(fdatasync(count) == 0, "fdatasync count");
}
