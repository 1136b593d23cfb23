/* Loaded by plugin_host.c: touches every line of the memory it is given. */
#include <stddef.h>

long plugin_sum(volatile char* bytes, size_t count);

long plugin_sum(volatile char* bytes, size_t count) {
  long sum = 0;
  for (size_t i = 0; i < count; i += 64) sum += bytes[i] += 1;
  return sum;
}
