/* Two phases over data larger than any translation cache knows: searches, whose last steps go to
 * neighbouring pages, and reads of anything. */
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS (1u << 24) /* 128 MiB */
#define SEARCHES 30000u
#define READS 300000u

static uint32_t dice(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

__attribute__((noinline)) static uint64_t search(const uint64_t* words, uint64_t key) {
  uint64_t low = 0, high = WORDS;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    if (words[middle] <= key)
      low = middle;
    else
      high = middle;
  }
  return low;
}

__attribute__((noinline)) static uint64_t anywhere(const uint64_t* words, uint64_t* state) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < READS; ++i) {
    const uint32_t place = dice(state) % WORDS;
    sum += words[place];
  }
  return sum;
}

int main(void) {
  uint64_t* words = malloc(WORDS * sizeof *words);
  if (words == NULL) return 1;
  for (uint32_t i = 0; i < WORDS; ++i) words[i] = i;
  uint64_t state = 1, sum = 0;
  NEARFAR_BEGIN("search");
  for (unsigned i = 0; i < SEARCHES; ++i) sum += search(words, dice(&state) % WORDS);
  NEARFAR_END("search", SEARCHES);
  NEARFAR_BEGIN("anywhere");
  sum += anywhere(words, &state);
  NEARFAR_END("anywhere", READS);
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
