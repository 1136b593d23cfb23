/* Writes to fresh pages: each is one page fault, so faults per object and phase are known. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nearfar/mark.h"

enum { page = 4096, few = 300, many = 900 };

__attribute__((noinline)) static char* make_few(void) { return malloc((size_t)few * page); }
__attribute__((noinline)) static char* make_many(void) { return malloc((size_t)many * page); }

static void touch(char* block, int pages) {
  /* Huge pages would be one fault for many; the first page has malloc's own header. */
  for (int i = 1; i < pages; ++i) ((volatile char*)block)[(size_t)i * page] = 1;
}

int main(int count, char** words) {
  (void)words;
  char* first = make_few();
  char* second = make_many();
  madvise((void*)((uintptr_t)first & -(uintptr_t)page), (size_t)few * page, MADV_NOHUGEPAGE);
  madvise((void*)((uintptr_t)second & -(uintptr_t)page), (size_t)many * page, MADV_NOHUGEPAGE);
  NEARFAR_BEGIN("few");
  touch(first, few);
  NEARFAR_END("few", few);
  NEARFAR_BEGIN("many");
  touch(second, many);
  NEARFAR_END("many", many);
  if (count > 1 && fork() == 0) {
    char* own = malloc((size_t)few * page);
    touch(own, few);
    _exit(0);
  }
  wait(NULL);
  /* Freed and taken again: what is touched next is whose it is then. */
  free(first);
  char* third = make_many();
  puts(third[0] + second[0] == 1 ? "odd" : "done");
  return 0;
}
