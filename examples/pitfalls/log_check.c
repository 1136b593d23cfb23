/* The checker of the logs: log_check POOL; exit code 0 if all counted entries are valid. */
#include <stdint.h>
#include <stdio.h>

int main(int count, char** words) {
  FILE* pool = count == 2 ? fopen(words[1], "rb") : NULL;
  if (pool == NULL) return 2;
  uint32_t head[2] = {0, 0}; /* entries, bytes */
  uint64_t line[8];
  if (fread(line, sizeof line, 1, pool) != 1) return 2;
  head[0] = (uint32_t)line[0];
  head[1] = (uint32_t)(line[0] >> 32);
  if (head[1] != head[0] * sizeof line) {
    printf("head: %u entries, %u bytes\n", head[0], head[1]);
    return 1;
  }
  for (uint32_t i = 0; i < head[0]; ++i) {
    if (fread(line, sizeof line, 1, pool) != 1) return 1;
    for (int word = 0; word < 8; ++word) {
      if (line[word] == i + 1) continue;
      printf("entry %u of %u holds %llu\n", i, head[0], (unsigned long long)line[word]);
      return 1;
    }
  }
  fclose(pool);
  return 0;
}
