/* Two kinds of items in one pool, in turns, one of them named by the program, the other by size;
 * then a large piece with a name; globals with a name. */
#include <stdlib.h>

#include "nearfar/mark.h"

enum { users = 1024, piece = 4096, large = 2 << 20, table_bytes = 1 << 20 };

static char table[table_bytes];

static void touch(volatile char* block, long bytes) {
  for (int round = 0; round < 2; ++round) {
    for (long i = 0; i < bytes; i += 64) block[i]++;
  }
}

__attribute__((noinline)) static char* make_pool(long bytes) { return malloc(bytes); }

int main(void) {
  char* pool = make_pool(2 * users * piece + large);
  for (int i = 0; i < users; ++i) {
    NEARFAR_ARENA("users", pool + 2 * i * piece, piece);
    NEARFAR_ARENA(0, pool + (2 * i + 1) * piece, piece);
  }
  char* rest = pool + 2 * users * piece;
  NEARFAR_ARENA("index", rest, large);
  NEARFAR_ARENA("table", table, table_bytes);
  for (int i = 0; i < 2 * users; ++i) touch(pool + i * piece, piece);
  touch(rest, large);
  touch(table, table_bytes);
  free(pool);
  return 0;
}
