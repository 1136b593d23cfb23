/* Three blocks of one site, two of them under names of the program's own. */
#include <stdlib.h>

#include "nearfar/mark.h"

enum { bytes = 1 << 20 };

__attribute__((noinline)) static char* make(void) { return malloc(bytes); }

static void touch(volatile char* block) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < bytes; i += 64) block[i]++;
  }
}

int main(void) {
  {
    NEARFAR_TAG("users");
    touch(make());
  }
  {
    NEARFAR_TAG("orders");
    touch(make());
  }
  touch(make());
  return 0;
}
