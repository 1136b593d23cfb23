/* Blocks of the C library, which a preloaded allocator has to return to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* __libc_malloc(size_t);

static char* foreign(size_t size) {
  char* block = __libc_malloc(size);
  if (!block) abort();
  return memset(block, 7, size);
}

int main(void) {
  for (size_t i = 0; i < 2000; ++i) {
    free(foreign(24 + i * 100));
    char* moved = realloc(foreign(100), 1000 + i);
    if (!moved || moved[0] != 7 || moved[99] != 7) return 1;
    /* Several MiB, so that some of these blocks are sampled. */
    char* cleared = calloc(1, 24 + i);
    if (!cleared || cleared[0] || cleared[23 + i]) return 2;
    cleared = realloc(cleared, 24 + 2 * i);
    if (!cleared || cleared[0]) return 3;
    free(moved);
    free(cleared);
  }
  return 0;
}
