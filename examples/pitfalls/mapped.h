// A mapped file: values, and in the first page their count.
#include "data.h"

enum { page = 4096, pages = 5 };

static void add(char* map, int number);  // the wrong programs differ here

static void run(void) {
  const int file = open("mapped", O_CREAT | O_RDWR, 0644);
  must(ftruncate(file, page * pages) == 0 && fsync(file) == 0, "ftruncate");
  sync_folder();
  char* map = mmap(NULL, page * pages, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  must(map != MAP_FAILED, "mmap");
  for (int number = 1; number < pages; ++number) {
    add(map, number);
    acknowledge(number);
  }
}

static int check(int last) {
  char data[page * pages] = {0};
  const int file = open("mapped", O_RDONLY);
  if (file >= 0 && read(file, data, sizeof data) < 0) return refuse("cannot read after", last);
  for (int number = 1; number <= data[0]; ++number)
    if (data[page * number] != 'v') return refuse("counted and missing:", number);
  return data[0] >= last ? 0 : refuse("lost value", last);
}
