/* A checker of the logs of examples/pitfalls that stays: log_loop POOL judges one image; with
 * NEARFAR_CRASH_LOOP it judges the image that each line names. A function (NEARFAR_CRASH_CHECKER)
 * is faster still. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int check(const char* path) {
  uint64_t line[8] = {0};
  FILE* pool = fopen(path, "rb");
  if (pool == NULL || fread(line, sizeof line, 1, pool) != 1) return 2;
  const uint32_t entries = (uint32_t)line[0];
  int wrong = line[0] >> 32 != entries * sizeof line;
  if (wrong) printf("head: %u entries, %u bytes\n", entries, (uint32_t)(line[0] >> 32));
  for (uint32_t i = 0; !wrong && i < entries; ++i) {
    wrong = fread(line, sizeof line, 1, pool) != 1;
    for (int word = 0; word < 8; ++word) wrong |= line[word] != i + 1;
    if (wrong) printf("entry %u of %u is incomplete\n", i, entries);
  }
  fclose(pool);
  return wrong;
}

int main(int count, char** words) {
  if (getenv("NEARFAR_CRASH_LOOP") == NULL) return count == 2 ? check(words[1]) : 2;
  char path[4096];
  long done, begun;
  puts("ready");
  fflush(stdout);
  while (scanf("%4095s %ld %ld", path, &done, &begun) == 3) {
    puts(check(path) == 0 ? "accept" : "refuse");
    fflush(stdout);
  }
  return 0;
}
