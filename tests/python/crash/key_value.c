/* Writes numbered pairs of values to a store, LEVELDB, ROCKSDB or LMDB, or checks what is there.
 *   key_value FOLDER MODE FIRST COUNT   prints each number once its pair is written; MODE is sync,
 *                                       none, mapped, map-async or no-meta-sync
 *   key_value FOLDER check PRINTED      1: a value is damaged, or one of a pair or a printed one is
 *                                       lost
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBER = 100, MAX_BYTES = 8192 };
static int seen[2][MAX_NUMBER];

/* Returns the bytes of a number's value. */
static size_t value_of(int number, int repeats, char* value) {
  size_t bytes = 0;
  for (int i = 0; i < repeats; ++i) bytes += (size_t)sprintf(value + bytes, "%d ", number);
  return bytes;
}

static void require(int condition, const char* sentence) {
  if (condition) return;
  puts(sentence);
  fflush(stdout);
  _Exit(1);
}

#ifdef LMDB
#include <lmdb.h>
enum { REPEATS = 300 };
static MDB_env* store;
static MDB_dbi table;

static void open_store(const char* folder, const char* mode) {
  MDB_txn* begun;
  unsigned flags = strcmp(mode, "none") == 0 ? MDB_NOSYNC : 0;
  if (strcmp(mode, "mapped") == 0) flags = MDB_WRITEMAP;
  if (strcmp(mode, "map-async") == 0) flags = MDB_WRITEMAP | MDB_MAPASYNC;
  if (strcmp(mode, "no-meta-sync") == 0) flags = MDB_NOMETASYNC;
  require(mdb_env_create(&store) == 0 && mdb_env_set_mapsize(store, 1 << 20) == 0, "no memory");
  require(mdb_env_open(store, folder, flags, 0644) == 0, "cannot open");
  require(mdb_txn_begin(store, NULL, 0, &begun) == 0, "cannot begin");
  require(mdb_dbi_open(begun, NULL, 0, &table) == 0, "no table");
  require(mdb_txn_commit(begun) == 0, "cannot commit");
}

static void put_pair(int number, const char* value, size_t bytes, int synced) {
  MDB_txn* begun;
  char key[16];
  (void)synced;
  require(mdb_txn_begin(store, NULL, 0, &begun) == 0, "cannot begin");
  for (const char* half = "ab"; *half != '\0'; ++half) {
    MDB_val name = {(size_t)sprintf(key, "%c%d", *half, number), key};
    MDB_val content = {bytes, (void*)value};
    require(mdb_put(begun, table, &name, &content, 0) == 0, "cannot put");
  }
  require(mdb_txn_commit(begun) == 0, "cannot commit");
}

static void each(void (*visit)(const char*, size_t, const char*, size_t)) {
  MDB_txn* begun;
  MDB_cursor* at;
  MDB_val key, value;
  require(mdb_txn_begin(store, NULL, MDB_RDONLY, &begun) == 0, "cannot begin");
  require(mdb_cursor_open(begun, table, &at) == 0, "cannot read");
  while (mdb_cursor_get(at, &key, &value, MDB_NEXT) == 0)
    visit(key.mv_data, key.mv_size, value.mv_data, value.mv_size);
  mdb_cursor_close(at);
  mdb_txn_abort(begun);
}

static void close_store(void) { mdb_env_close(store); }
#else
#ifdef ROCKSDB
#include <rocksdb/c.h>
#define NAME(name) rocksdb_##name
#else
#include <leveldb/c.h>
#define NAME(name) leveldb_##name
#endif
enum { REPEATS = 1500 };
static NAME(t) * store;

static void open_store(const char* folder, const char* mode) {
  char* error = NULL;
  NAME(options_t)* const options = NAME(options_create)();
  (void)mode;
  NAME(options_set_create_if_missing)(options, 1);
  NAME(options_set_write_buffer_size)(options, 1 << 16);
  store = NAME(open)(options, folder, &error);
  require(error == NULL, error);
}

static void put_pair(int number, const char* value, size_t bytes, int synced) {
  char* error = NULL;
  char key[16];
  NAME(writeoptions_t)* const options = NAME(writeoptions_create)();
  NAME(writebatch_t)* const batch = NAME(writebatch_create)();
  NAME(writeoptions_set_sync)(options, (unsigned char)synced);
  for (const char* half = "ab"; *half != '\0'; ++half)
    NAME(writebatch_put)(batch, key, (size_t)sprintf(key, "%c%d", *half, number), value, bytes);
  NAME(write)(store, options, batch, &error);
  require(error == NULL, error);
}

static void each(void (*visit)(const char*, size_t, const char*, size_t)) {
  char* error = NULL;
  NAME(readoptions_t)* const options = NAME(readoptions_create)();
  NAME(readoptions_set_verify_checksums)(options, 1);
  NAME(iterator_t)* const at = NAME(create_iterator)(store, options);
  for (NAME(iter_seek_to_first)(at); NAME(iter_valid)(at); NAME(iter_next)(at)) {
    size_t key_bytes, bytes;
    const char* const key = NAME(iter_key)(at, &key_bytes);
    const char* const value = NAME(iter_value)(at, &bytes);
    visit(key, key_bytes, value, bytes);
  }
  NAME(iter_get_error)(at, &error);
  require(error == NULL, error);
  NAME(iter_destroy)(at);
}

static void close_store(void) { NAME(close)(store); }
#endif

static void visit(const char* key, size_t key_bytes, const char* value, size_t bytes) {
  char digits[16] = {0};
  char wanted[MAX_BYTES];
  require(key_bytes > 1 && key_bytes < sizeof digits, "an unknown key");
  memcpy(digits, key + 1, key_bytes - 1);
  const int number = atoi(digits);
  require(number >= 0 && number < MAX_NUMBER, "an unknown key");
  require(value_of(number, REPEATS, wanted) == bytes && memcmp(value, wanted, bytes) == 0,
          "a damaged value");
  seen[key[0] == 'b'][number] = 1;
}

static void check(const char* printed) {
  int number;
  FILE* const file = fopen(printed, "r");
  require(file != NULL, "nothing was printed");
  each(visit);
  for (int i = 0; i < MAX_NUMBER; ++i) require(seen[0][i] == seen[1][i], "half a pair");
  while (fscanf(file, "%d", &number) == 1) require(seen[0][number], "acknowledged and lost");
  fclose(file);
}

int main(int count, char** words) {
  char value[MAX_BYTES];
  if (count < 4) return 2;
  open_store(words[1], words[2]);
  if (strcmp(words[2], "check") == 0) {
    check(words[3]);
  } else {
    const int first = atoi(words[3]);
    for (int number = first; number < first + atoi(words[4]); ++number) {
      put_pair(number, value, value_of(number, REPEATS, value), strcmp(words[2], "none") != 0);
      printf("%d\n", number);
      fflush(stdout);
    }
  }
  close_store();
  return 0;
}
