/* Atomic additions at random in 32 MiB, 2^20 of them. */
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdlib.h>

int main(void) {
  enum { words = 1 << 22 };
  uint64_t* table = calloc(words, sizeof *table);
  uint64_t random = 88172645463325252ull;
  NEARFAR_BEGIN("add");
  for (int i = 0; i < 1 << 20; ++i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    __atomic_fetch_add(&table[random % words], 1, __ATOMIC_RELAXED);
  }
  NEARFAR_END("add", 1 << 20);
  return table[0] > 1 << 20;
}
