/* A mapped file, anonymous memory that grows, a block that moves. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { bytes = 1 << 20 };

static void touch(volatile char* at, long size) {
  for (int round = 0; round < 2; ++round) {
    for (long i = 0; i < size; i += 64) at[i]++;
  }
}

__attribute__((noinline)) static char* make_small(void) { return malloc(bytes / 2); }

int main(int count, char** words) {
  if (count != 2) return 2;
  const int file = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, bytes) != 0) return 3;
  touch(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), bytes);
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory = mremap(memory, bytes, 2 * bytes, MREMAP_MAYMOVE);
  touch(memory, 2 * bytes);
  char* block = make_small();
  block = realloc(block, bytes);
  touch(block, bytes);
  free(block);
  return 0;
}
