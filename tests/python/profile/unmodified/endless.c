/* Reads a block round after round: how many rounds is said by the argument. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char** words) {
  const long rounds = count > 1 ? atol(words[1]) : 1;
  const long lines = 1 << 15;
  volatile char* block = malloc((size_t)lines * 64);
  for (long round = 0; round < rounds; ++round) {
    for (long line = 0; line < lines; ++line) block[line * 64]++;
  }
  free((void*)block);
  return 0;
}
