/* Chases through a random cycle of lines by loads in inline assembly, in a phase of its own. */
#include <nearfar/mark.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { lines = 1 << 16, steps = 1 << 18 };

int main(void) {
  uint64_t* block = malloc((size_t)lines * 64);
  uint32_t* order = malloc(lines * sizeof *order);
  uint64_t dice = 88172645463325252u;
  for (uint32_t i = 0; i < lines; i++) order[i] = i;
  for (uint32_t i = lines - 1; i > 0; i--) {
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    const uint32_t other = (uint32_t)(dice % (i + 1));
    const uint32_t kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  for (uint32_t i = 0; i < lines; i++)
    block[order[i] * 8] = (uint64_t)&block[order[(i + 1) % lines] * 8];
  uint64_t at = (uint64_t)block;
  NEARFAR_BEGIN("chase");
  for (int i = 0; i < steps; i++) __asm__ volatile("mov (%0), %0" : "+r"(at)::"memory");
  NEARFAR_END("chase", steps);
  printf("%d\n", (int)(at & 1));
  return 0;
}
