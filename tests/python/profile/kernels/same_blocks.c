/* same_blocks MOST: each block twice, at the same address: first without a tag, which takes the
 * short way of most programs, then with one. Sizes are up to MOST. Without MOST: up to beyond two
 * pages. With "untagged" after it: without the second time. */
#include <stdlib.h>

#include "by_hand.h"
#include "nearfar/mark.h"

enum { BLOCKS = 20000 };

__attribute__((noinline)) static void* short_way(size_t size) { return malloc(size); }
__attribute__((noinline)) static void* long_way(size_t size) { return malloc(size); }

int main(int argc, char** argv) {
  const size_t most = argc > 1 ? strtoul(argv[1], 0, 10) : 9024;
  for (unsigned i = 0; i < BLOCKS; ++i) {
    const size_t size = 24 + i * 2654435761u % (most - 24);
    void* block = short_way(size);
    free(block);
    if (argc <= 2) {
      const char* before = nearfar_tag_set("tagged");
      void* again = long_way(size);
      free(again);
      nearfar_tag_set(before);
      if (again != block) return 1;
    }
    /* Stays, so that the next blocks are elsewhere. */
    if (malloc(48 + i % 7 * 16) == 0) return 2;
  }
  return 0;
}
