/* A program that brings its own allocator, as Redis brings jemalloc. */
#include <stdio.h>
#include <sys/mman.h>

static char* chunk;
static size_t used, room;

__attribute__((noinline)) void* je_malloc(size_t size) {
  if (used + size > room) {
    room = 4 << 20;
    used = 0;
    chunk = mmap(0, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  void* block = chunk + used;
  used += (size + 15) & ~15ul;
  return block;
}

int main(void) {
  long sum = 0;
  for (int i = 0; i < 200000; ++i) {
    volatile long* block = je_malloc(64);
    *block = i;
    sum += *block;
  }
  printf("%ld\n", sum);
  return 0;
}
