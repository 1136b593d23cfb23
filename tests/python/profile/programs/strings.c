/* The C library's memory and string functions, with overlaps, bounds and early ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  char* a = malloc(10000);
  char* b = malloc(10000);
  unsigned long sum = 0;
  for (int round = 0; round < 300; round++) {
    const size_t length = (size_t)(round * 31 % 9000);
    memset(a, 'a' + round % 20, 9999);
    a[length] = 0;
    strcpy(b, a);
    sum += strlen(b) + (strcmp(a, b) == 0);
    memmove(a + 5, a, length);
    sum += (unsigned)(memcmp(a, b, length + 1) != 0);
    memcpy(b, a, 64);
    const char* found = strchr(b, 'c');
    sum += found ? (unsigned long)(found - b) : 1;
    found = memchr(b, 'd', length + 1);
    sum += found ? (unsigned long)(found - b) : 2;
    sum += (unsigned)(strncmp(a, b, 20) == 0);
    char* copy = strdup(b);
    sum += strlen(copy);
    free(copy);
  }
  printf("%lu\n", sum);
  free(a);
  free(b);
  return 0;
}
