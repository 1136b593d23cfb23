/* A hash table of numbers in a mapped file, with libpmem alone: shared by table_*.c.
 * `PROGRAM POOL N` makes the table if there is none and does N operations; `PROGRAM POOL dump`
 * opens it, which recovers it, and prints its content. */
#ifndef TABLE_H
#define TABLE_H

#include <libpmem.h>
#include <nearfar/crash.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_SLOTS 16
#define TABLE_MAGIC 0x656c626174u

struct slot {
  uint64_t state; /* 0: free, 1: taken */
  uint64_t key;
  char name[64]; /* so that the value is in another line */
  uint64_t value;
  uint64_t padding[5];
};
struct table {
  uint64_t magic;
  uint64_t slot_count;
  uint64_t padding[6];
  struct slot slots[TABLE_SLOTS];
};

/* Differs by program. */
void make(struct table* table);
int recover(struct table* table); /* 1: it can be used */
void put(struct slot* slot, uint64_t key, uint64_t value);
void drop(struct slot* slot);

static inline struct slot* slot_of(struct table* table, uint64_t key, int is_free) {
  for (uint64_t i = 0; i < TABLE_SLOTS; ++i) {
    struct slot* slot = &table->slots[(key + i) % TABLE_SLOTS];
    if (is_free ? slot->state == 0 : slot->state == 1 && slot->key == key) return slot;
  }
  return NULL;
}

static inline void right_make(struct table* table) {
  table->slot_count = TABLE_SLOTS;
  pmem_persist(&table->slot_count, sizeof table->slot_count);
  table->magic = TABLE_MAGIC;
  pmem_persist(&table->magic, sizeof table->magic);
}

static inline int right_recover(struct table* table) {
  if (table->magic == 0) right_make(table);
  return table->magic == TABLE_MAGIC && table->slot_count == TABLE_SLOTS;
}

static inline void right_put(struct slot* slot, uint64_t key, uint64_t value) {
  slot->key = key;
  slot->value = value;
  pmem_persist(slot, sizeof *slot);
  slot->state = 1;
  pmem_persist(&slot->state, sizeof slot->state);
}

static inline void right_drop(struct slot* slot) {
  slot->state = 0;
  pmem_persist(&slot->state, sizeof slot->state);
}

static inline void operate(struct table* table, uint64_t i) {
  struct slot* held = slot_of(table, i, 0);
  if (held == NULL) {
    struct slot* slot = slot_of(table, i, 1);
    if (slot == NULL) return;
    NEARFAR_CRASH_OP("insert", i, 100 + i);
    put(slot, i, 100 + i);
  } else {
    NEARFAR_CRASH_OP("remove", i, 0);
    drop(held);
  }
  NEARFAR_CRASH_OUTCOME(1);
}

int main(int count, char** words) {
  if (count != 3) return 2;
  const int dumps = strcmp(words[2], "dump") == 0;
  size_t bytes = 0;
  struct table* table =
      pmem_map_file(words[1], sizeof *table, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (table == NULL) return 2;
  if (!recover(table)) return printf("! the table cannot be used\n"), 1;
  if (dumps) {
    for (int i = 0; i < TABLE_SLOTS; ++i) {
      const struct slot* slot = &table->slots[i];
      if (slot->state == 1) printf("%d %d\n", (int)slot->key, (int)slot->value);
    }
  } else {
    for (uint64_t i = 0, n = strtoul(words[2], NULL, 10); i < n; ++i) operate(table, i % 5);
  }
  pmem_unmap(table, bytes);
  return 0;
}

#endif
