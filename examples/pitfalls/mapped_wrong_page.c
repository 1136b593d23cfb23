/* The first page is synced twice, the value's page never. */
#include "mapped.h"

static void add(char* map, int number) {
  map[page * number] = 'v';
  must(msync(map, page, MS_SYNC) == 0, "msync");
  map[0] = (char)number;
  must(msync(map, page, MS_SYNC) == 0, "msync");
}
