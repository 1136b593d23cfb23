/* A shared library that allocates in its constructor, before the program's main and before any
 * preloaded library's constructor; built a second time to be opened and closed while running. */
#include <stdlib.h>
#include <string.h>

static char* early;

__attribute__((noinline)) char* EARLY(size_t bytes) {
  char* block = malloc(bytes);
  if (!block) abort();
  memset(block, 3, bytes);
  return block;
}

__attribute__((constructor)) static void at_start(void) { early = EARLY(4u << 20); }

char* early_block(void) { return early; }
