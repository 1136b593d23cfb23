/* Objects that are made on one line, two by one function and one by another, and two calls of malloc
 * on one line. */
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static char* make(size_t bytes) {
  char* made = malloc(bytes);
  if (!made) abort();
  memset(made, 1, bytes);
  return made;
}

__attribute__((noinline)) static char* other(size_t bytes) {
  char* made = malloc(bytes);
  if (!made) abort();
  memset(made, 2, bytes);
  return made;
}

int main(void) {
  char *a, *b, *c, *d, *e;
  a = make(8 << 20), b = make(4 << 20), e = other(7 << 20);
  c = malloc(3 << 20), d = malloc(5 << 20);
  if (!c || !d) abort();
  memset(c, 1, 3 << 20);
  memset(d, 1, 5 << 20);
  long sum = 0;
  for (size_t i = 0; i < (3u << 20); i += 64) sum += a[i] + b[i] + c[i] + d[i] + e[i];
  return sum == 1;
}
