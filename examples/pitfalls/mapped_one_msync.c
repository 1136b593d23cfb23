/* One msync of both pages does not order them. */
#include "mapped.h"

static void add(char* map, int number) {
  map[page * number] = 'v';
  map[0] = (char)number;
  must(msync(map, page * pages, MS_SYNC) == 0, "msync");
}
