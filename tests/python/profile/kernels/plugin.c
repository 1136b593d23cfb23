/* An instrumented library that is loaded while the program runs. */
#include <stdlib.h>

#include "by_hand.h"

static long plugin_table[1 << 16];

long plugin_work(void) {
  long* block = malloc(1 << 20);
  for (int i = 0; i < 1 << 16; ++i) STORE(plugin_table[i], i);
  for (int i = 0; i < 1 << 17; ++i) STORE(block[i], i);
  return plugin_table[5] + block[7];
}
