/* One call of malloc that several paths share, and blocks of known content.
 *
 *   paths BYTES    each of two makers allocates so much in small blocks, through the same call */
#include <stdlib.h>
#include <string.h>

static void* volatile keep;

__attribute__((noinline)) static void* take(size_t size) {
  void* block = malloc(size);
  if (!block) abort();
  memset(block, (int)size, size);
  return block;
}

__attribute__((noinline)) static void make_planned(size_t bytes) {
  for (size_t done = 0; done < bytes; done += 64) keep = take(64);
}
__attribute__((noinline)) static void make_also_planned(size_t bytes) {
  for (size_t done = 0; done < bytes; done += 64) keep = take(64);
}
__attribute__((noinline)) static void make_unplanned(size_t bytes) {
  for (size_t done = 0; done < bytes; done += 64) keep = take(64);
}

int main(int argc, char** argv) {
  const size_t bytes = argc > 1 ? strtoul(argv[1], 0, 10) : 4 << 20;
  make_planned(bytes);
  make_also_planned(bytes);
  make_unplanned(bytes);
  return 0;
}
