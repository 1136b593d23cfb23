// What the programs that keep their data in files share.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int works, const char* what) {
  if (works) return;
  perror(what);
  exit(9);
}

static unsigned checksum(const char* data, unsigned bytes) {
  unsigned sum = 2166136261u;  // FNV-1a
  for (unsigned i = 0; i < bytes; ++i) sum = (sum ^ (unsigned char)data[i]) * 16777619u;
  return sum;
}

static void sync_folder(void) {
  const int folder = open(".", O_RDONLY);
  must(fsync(folder) == 0, "fsync .");
  close(folder);
}

static void write_at(int file, long offset, const void* data, unsigned bytes) {
  must(pwrite(file, data, bytes, offset) == (ssize_t)bytes, "pwrite");
}

static void acknowledge(int number) {
  printf("%d\n", number);
  must(fflush(stdout) == 0, "stdout");
}

// The last number that the program had printed; -1: none.
static int acknowledged(const char* printed) {
  FILE* file = fopen(printed, "r");
  must(file != NULL, printed);
  int last = -1;
  while (fscanf(file, "%d", &last) == 1) continue;
  fclose(file);
  return last;
}

static int refuse(const char* why, int number) {
  printf("%s %d\n", why, number);
  return 1;
}

static void run(void);
static int check(int last);

// PROGRAM FOLDER runs; PROGRAM FOLDER PRINTED recovers and checks.
int main(int count, char** words) {
  const int last = count > 2 ? acknowledged(words[2]) : -1;
  must(count > 1 && chdir(words[1]) == 0, "the folder");
  if (count > 2) return check(last);
  run();
  return 0;
}
