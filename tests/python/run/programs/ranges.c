// Objects of which ranges are in different memories: slabs (blocks of 1 MiB), an array, a mapping
// and, if its path is given, a shared file. Checks its own data; writes to the file RANGES_REPORT how
// many pages of each MiB of an object, by position, are on node 0 and on others, as the kernel says.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB (1ul << 20)
#define PAGES (MIB / 4096)

static FILE *report_file;

static void report(const char *name, unsigned long mib, char *begin) {
  void *pages[PAGES];
  int nodes[PAGES];
  int counts[2] = {0, 0};
  for (unsigned long i = 0; i < PAGES; ++i) pages[i] = begin + i * 4096;
  if (syscall(SYS_move_pages, 0, PAGES, pages, NULL, nodes, 0) != 0) return;
  for (unsigned long i = 0; i < PAGES; ++i) {
    if (nodes[i] >= 0) ++counts[nodes[i] != 0];
  }
  if (report_file != NULL) {
    fprintf(report_file, "%s %lu %d %d\n", name, mib, counts[0], counts[1]);
  }
}

static void fill(char *block, unsigned long bytes, int value) { memset(block, value, bytes); }

static void check(const char *block, unsigned long bytes, int value) {
  for (unsigned long i = 0; i < bytes; i += 512) {
    if (block[i] != (char)value) abort();
  }
}

__attribute__((noinline)) static char *make_slab(int value) {
  char *slab = malloc(MIB);
  fill(slab, MIB, value);
  return slab;
}

__attribute__((noinline)) static char *make_array(void) {
  char *array = calloc(8, MIB);
  fill(array, 8 * MIB, 3);
  return array;
}

__attribute__((noinline)) static char *make_mapping(void) {
  char *mapping = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fill(mapping, 4 * MIB, 4);
  return mapping;
}

__attribute__((noinline)) static char *make_growing(void) {
  char *block = NULL;
  for (int i = 0; i < 2; ++i) block = realloc(block, (1 + 3ul * i) * MIB);
  fill(block, 4 * MIB, 5);
  return block;
}

int main(int count, char **words) {
  const char *path = getenv("RANGES_REPORT");
  report_file = path == NULL ? NULL : fopen(path, "w");
  char *slabs[8];
  for (int i = 0; i < 9; ++i) {
    if (i == 8) free(slabs[2]); // the next slab takes its positions
    slabs[i == 8 ? 2 : i] = make_slab(i == 8 ? 2 : i);
  }
  char *array = make_array(), *mapping = make_mapping(), *growing = make_growing();
  for (int i = 0; i < 8; ++i) report("make_slab", (unsigned long)i, slabs[i]);
  for (unsigned long i = 0; i < 8; ++i) report("make_array", i, array + i * MIB);
  for (unsigned long i = 0; i < 4; ++i) report("make_mapping", i, mapping + i * MIB);
  for (unsigned long i = 0; i < 4; ++i) report("make_growing", i, growing + i * MIB);
  if (count > 1) {
    const int file = open(words[1], O_RDWR);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) return 2;
    const unsigned long bytes = (unsigned long)status.st_size;
    if (lseek(file, 100, SEEK_SET) != 100) return 2;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    if (fcntl(file, F_SETLK, &lock) != 0) return 2;
    char *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED || lseek(file, 0, SEEK_CUR) != 100) return 2;
    lock = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    // The process still has its lock, so another owner could not have it.
    if (fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 2;
    const long blocks = status.st_blocks;
    if (fstat(file, &status) != 0 || status.st_blocks != blocks) return 2;
    fill(mapped, bytes, 6);
    for (unsigned long i = 0; i < bytes / MIB; ++i) report("file", i, mapped + i * MIB);
    check(mapped, bytes, 6);
  }
  for (int i = 0; i < 8; ++i) check(slabs[i], MIB, i);
  check(array, 8 * MIB, 3);
  check(mapping, 4 * MIB, 4);
  check(growing, 4 * MIB, 5);
  if (report_file != NULL) fclose(report_file);
  for (int i = 0; i < 8; ++i) free(slabs[i]);
  free(array);
  free(growing);
  munmap(mapping, 4 * MIB);
  return 0;
}
