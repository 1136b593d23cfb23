/* LMDB: 500,000 records in order of their keys, then reads of which most are of the newest ones
 * (YCSB's workload D): Zipf's law with exponent 0.99 over the age of a record. */
#include <lmdb.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { records = 500000, reads = 1000000, batch = 20000 };

static uint64_t state = 1;
static double random_unit(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) / 9007199254740992.0;
}

static void check(int status) {
  if (status == 0) return;
  fprintf(stderr, "%s\n", mdb_strerror(status));
  exit(2);
}

/* Ranks by Zipf's law, by inversion of the integral of x^-0.99. */
static int zipf(void) {
  const double e = 0.01, last = pow(records, e);
  return (int)pow(1.0 + random_unit() * (last - 1.0), 1.0 / e) - 1;
}

int main(int count, char **words) {
  if (count != 2) return 2;
  /* A profile runs it several times. */
  char lock[4096];
  snprintf(lock, sizeof lock, "%s-lock", words[1]);
  unlink(words[1]);
  unlink(lock);
  MDB_env *environment;
  MDB_txn *transaction;
  MDB_dbi database;
  char key[16], content[100];
  check(mdb_env_create(&environment));
  check(mdb_env_set_mapsize(environment, 128ul << 20));
  check(mdb_env_open(environment, words[1], MDB_NOSUBDIR | MDB_NOSYNC | MDB_WRITEMAP, 0600));
  memset(content, 'x', sizeof content);
  for (int i = 0; i < records; ++i) {
    if (i % batch == 0) {
      check(mdb_txn_begin(environment, NULL, 0, &transaction));
      check(mdb_dbi_open(transaction, NULL, 0, &database));
    }
    MDB_val name = {(size_t)snprintf(key, sizeof key, "%012d", i), key};
    MDB_val value = {sizeof content, content};
    check(mdb_put(transaction, database, &name, &value, MDB_APPEND));
    if (i % batch == batch - 1) check(mdb_txn_commit(transaction));
  }
  uint64_t sum = 0;
  check(mdb_txn_begin(environment, NULL, MDB_RDONLY, &transaction));
  for (int i = 0; i < reads; ++i) {
    int age = zipf();
    if (age >= records) age = records - 1;
    MDB_val name = {(size_t)snprintf(key, sizeof key, "%012d", records - 1 - age), key}, value;
    check(mdb_get(transaction, database, &name, &value));
    for (size_t at = 0; at < value.mv_size; at += 64) sum += ((unsigned char *)value.mv_data)[at];
  }
  mdb_txn_abort(transaction);
  mdb_env_close(environment);
  return sum == 0;
}
