/* Memory from every function that gives it, each touched once: who is it named after? */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "by_hand.h"

#define NOINLINE __attribute__((noinline))
enum { BYTES = 64 << 10 };

static void touch(void* block, size_t bytes) {
  char* at = block;
  for (size_t i = 0; i < bytes; i += 8) STORE(*(long*)(at + i), 1);
}

NOINLINE static void* zmalloc(size_t size) { return malloc(size + 8); }
NOINLINE static void* xrealloc(void* block, size_t size) { return realloc(block, size); }

NOINLINE static void* by_malloc(void) { return malloc(BYTES); }
NOINLINE static void* by_calloc(void) { return calloc(BYTES / 16, 16); }
NOINLINE static void* by_wrapper(void) { return zmalloc(BYTES); }
NOINLINE static void* by_posix_memalign(void) {
  void* block = 0;
  return posix_memalign(&block, 4096, BYTES) ? 0 : block;
}
NOINLINE static void* by_aligned_alloc(void) { return aligned_alloc(4096, BYTES); }
NOINLINE static void* by_memalign(void) { return memalign(4096, BYTES); }
NOINLINE static void* by_reallocarray(void) { return reallocarray(0, BYTES / 16, 16); }
NOINLINE static void* by_strdup(void) {
  char* text = malloc(BYTES);
  memset(text, 'x', BYTES);
  text[BYTES - 1] = 0;
  char* copy = strdup(text);
  free(text);
  return copy;
}
/* Grows until it must move: only the last block is alive. */
NOINLINE static void* by_realloc(void) {
  void* block = 0;
  for (size_t size = 100; size <= BYTES; size *= 2) block = xrealloc(block, size);
  void* in_the_way = malloc(16);
  block = xrealloc(block, 2 * BYTES);
  free(in_the_way);
  return block;
}
NOINLINE static void* by_alloca_frame(size_t varies) {
  volatile char* scratch = __builtin_alloca(varies);
  scratch[0] = 1;
  void* block = malloc(BYTES);
  scratch[varies - 1] = 1;
  return block;
}
NOINLINE static void* small_blocks(void) {
  void** list = malloc(8 * 20000);
  for (int i = 0; i < 20000; ++i) list[i] = malloc(100);
  for (int i = 0; i < 20000; ++i) STORE(*(long*)list[i], 1);
  for (int i = 0; i < 20000; i += 2) free(list[i]);
  return list;
}
NOINLINE static void* by_mmap(void) {
  return mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
NOINLINE static void* by_file(const char* path) {
  FILE* file = fopen(path, "r+");
  void* block = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  fclose(file);
  return block;
}
static long table[BYTES / 8];

int main(int argc, char** argv) {
  touch(by_malloc(), BYTES);
  touch(by_calloc(), BYTES);
  touch(by_wrapper(), BYTES);
  touch(by_posix_memalign(), BYTES);
  touch(by_aligned_alloc(), BYTES);
  touch(by_memalign(), BYTES);
  touch(by_reallocarray(), BYTES);
  touch(by_strdup(), BYTES);
  touch(by_realloc(), 2 * BYTES);
  for (size_t i = 1; i <= 4; ++i) touch(by_alloca_frame(i * 1000), BYTES);
  small_blocks();
  char* mapped = by_mmap();
  touch(mapped, 2 << 20);
  munmap(mapped, 1 << 20);
  char* moved = mremap(mapped + (1 << 20), 1 << 20, 4 << 20, MREMAP_MAYMOVE);
  touch(moved, 4 << 20);
  void* reserved =
      mmap(0, 1ul << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  mprotect(reserved, 1 << 20, PROT_READ | PROT_WRITE);
  touch(reserved, 1 << 20);
  touch(table, BYTES);
  long local[BYTES / 8];
  touch(local, BYTES);
  if (argc > 1) touch(by_file(argv[1]), BYTES);
  return (int)local[0] - 1;
}
