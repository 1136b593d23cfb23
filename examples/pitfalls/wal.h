// Two blocks that always have the same number, updated in place by a write-ahead log of both.
#include "data.h"

enum { block_bytes = 4096 };

struct entry {
  unsigned sum;
  int number;
  char blocks[2 * block_bytes];
};

static void update(int log, int data, const struct entry* entry);  // the wrong programs differ
static int whole(const struct entry* entry);                       // here or here

static void fill(int number, struct entry* entry) {
  memset(entry->blocks, 'a' + number, sizeof entry->blocks);
  entry->number = number;
  entry->sum = checksum(entry->blocks, sizeof entry->blocks);
}

static void write_blocks(int data, const struct entry* entry) {
  write_at(data, 0, entry->blocks, block_bytes);
  write_at(data, block_bytes, entry->blocks + block_bytes, block_bytes);
}

static void run(void) {
  struct entry entry;
  const int log = open("log", O_CREAT | O_RDWR, 0644);
  const int data = open("data", O_CREAT | O_RDWR, 0644);
  fill(0, &entry);
  write_blocks(data, &entry);
  must(log >= 0 && fsync(data) == 0, "data");
  sync_folder();
  for (int number = 1; number < 4; ++number) {
    acknowledge(number - 1);
    fill(number, &entry);
    update(log, data, &entry);
  }
  acknowledge(3);
}

static int check(int last) {
  struct entry entry;
  char blocks[2 * block_bytes];
  const int log = open("log", O_RDONLY);
  const int data = open("data", O_RDWR);
  if (last < 0) return 0;  // nothing was promised yet
  must(log >= 0 && data >= 0, "data");
  if (read(log, &entry, sizeof entry) == (ssize_t)sizeof entry && whole(&entry))
    write_blocks(data, &entry);
  if (read(data, blocks, sizeof blocks) != (ssize_t)sizeof blocks)
    return refuse("short after", last);
  for (unsigned i = 1; i < sizeof blocks; ++i)
    if (blocks[i] != blocks[0]) return refuse("two numbers after", last);
  return blocks[0] - 'a' >= last ? 0 : refuse("lost update", last);
}
