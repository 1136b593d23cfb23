// A log in files of one record each.
#include "data.h"

static void add(const char* name, int number);  // the wrong programs differ here

static void run(void) {
  char name[16];
  for (int number = 0; number < 4; ++number) {
    snprintf(name, sizeof name, "part-%d", number);
    add(name, number);
    acknowledge(number);
  }
}

static int check(int last) {
  char name[16];
  for (int number = 0; number <= last; ++number) {
    int value = -1;
    snprintf(name, sizeof name, "part-%d", number);
    const int file = open(name, O_RDONLY);
    if (file < 0 || read(file, &value, sizeof value) != (ssize_t)sizeof value || value != number)
      return refuse("lost part", number);
    close(file);
  }
  return 0;
}
