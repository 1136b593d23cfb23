/* Three functions of the C library on one line. */
#include <stdlib.h>
#include <string.h>

int main(void) {
  char *a, *b, *c;
  a = malloc(8 << 20), b = calloc(5, 1 << 20), c = aligned_alloc(64, 3 << 20);
  if (!a || !b || !c) abort();
  memset(a, 1, 8 << 20);
  memset(b, 1, 5 << 20);
  memset(c, 1, 3 << 20);
  long sum = 0;
  for (size_t i = 0; i < (3u << 20); i += 64) sum += a[i] + b[i] + c[i];
  return sum == 1;
}
