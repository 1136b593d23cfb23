/* MS_ASYNC only asks for the pages to be written at some time. */
#include "mapped.h"

static void add(char* map, int number) {
  map[page * number] = 'v';
  must(msync(map + page * number, page, MS_ASYNC) == 0, "msync");
  map[0] = (char)number;
  must(msync(map, page, MS_SYNC) == 0, "msync");
}
