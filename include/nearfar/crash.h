/* Marks where operations begin and end, for `nearfar crash`. For C and C++, without linking.
 * Outside `nearfar crash`, a mark is one test of a null pointer.
 *
 *   #include <nearfar/crash.h>
 *   NEARFAR_CRASH_BEGIN(i);
 *   insert(map, keys[i]);
 *   NEARFAR_CRASH_END(i);      // the operation's effects must survive from here on
 *
 * Power is also cut at the end of each operation, even without a fence. The checker can ask how far
 * the program was: `--check 'CHECK {pool} {done} {begun}'` passes the numbers of the last completed
 * and the last begun operation, -1 for none.
 *
 * For a map or a set, mark the kind of operation; nearfar then knows the expected content:
 *
 *   NEARFAR_CRASH_OP("insert", key, value);     // insert, remove or get; sets pass any value
 *   int worked = insert(map, key, value);
 *   NEARFAR_CRASH_OUTCOME(worked);              // 0: nothing changed (get: not found)
 *
 * `--dump 'DUMP {pool}'` then prints an image's content, one line per key: "key value", for sets
 * "key". It must equal the result of the completed operations, with each operation in flight either
 * done or not, per thread. NEARFAR_CRASH_OP_TEXT takes strings. A thread's operations do not nest.
 *
 * The adapter below is a DUMP in a few lines of C that also tests whether the map still works.
 */
#ifndef NEARFAR_CRASH_H
#define NEARFAR_CRASH_H

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) void nearfar_crash_begin(unsigned long operation);
__attribute__((weak)) void nearfar_crash_end(unsigned long operation);
/* The key and the value are texts; if both texts are null, the numbers are used. */
__attribute__((weak)) void nearfar_crash_operation(const char* kind, const char* key_text,
                                                   const char* value_text, long long key,
                                                   long long value);
__attribute__((weak)) void nearfar_crash_outcome(long long outcome);
#ifdef __cplusplus
}
#endif

#define NEARFAR_CRASH_BEGIN(operation)                                        \
  do {                                                                        \
    if (nearfar_crash_begin) nearfar_crash_begin((unsigned long)(operation)); \
  } while (0)
#define NEARFAR_CRASH_END(operation)                                      \
  do {                                                                    \
    if (nearfar_crash_end) nearfar_crash_end((unsigned long)(operation)); \
  } while (0)
#define NEARFAR_CRASH_OP(kind, key, value)                                            \
  do {                                                                                \
    if (nearfar_crash_operation)                                                      \
      nearfar_crash_operation(kind, (const char*)0, (const char*)0, (long long)(key), \
                              (long long)(value));                                    \
  } while (0)
#define NEARFAR_CRASH_OP_TEXT(kind, key, value)                                       \
  do {                                                                                \
    if (nearfar_crash_operation) nearfar_crash_operation(kind, key, value, 0LL, 0LL); \
  } while (0)
#define NEARFAR_CRASH_OUTCOME(outcome)                                      \
  do {                                                                      \
    if (nearfar_crash_outcome) nearfar_crash_outcome((long long)(outcome)); \
  } while (0)

/* A checker that is called in a persistent process instead of being started for each image:
 *   static int check(const char* pool, long done, long begun) { ... return 0; }   // 0: consistent
 *   NEARFAR_CRASH_CHECKER(check)
 * in the program of `--check './program {pool}'`, or in a shared object. It must close the pool. */
typedef int (*nearfar_crash_checker_function)(const char* pool, long done, long begun);
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((weak)) void
    nearfar_crash_checker(nearfar_crash_checker_function check);
/* For checkers: returns the number of operations in flight and writes their numbers to
 * `operations`. */
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((weak)) unsigned
    nearfar_crash_in_flight(const long** operations);
#define NEARFAR_CRASH_CHECKER(function)                                            \
  __attribute__((constructor)) static void nearfar_crash_checker_register_(void) { \
    if (nearfar_crash_checker) nearfar_crash_checker(function);                    \
  }

/* Adapter for a map with numeric keys and values:
 *
 *   #define NEARFAR_CRASH_ADAPTER
 *   #include <nearfar/crash.h>
 *   ... functions of your map ...
 *   static const struct nearfar_crash_map map = {open_map, each, insert, get, drop, close_map};
 *   NEARFAR_CRASH_MAP(map)
 *
 * It prints the content, then inserts, finds and removes a new key. */
#ifdef NEARFAR_CRASH_ADAPTER
#include <stdio.h>

struct nearfar_crash_map {
  void* (*open)(const char* pool); /* runs recovery; returns null on failure */
  /* Calls report(key, value) for each key. */
  void (*each)(void* map, void (*report)(long long key, long long value));
  int (*insert)(void* map, long long key, long long value); /* 1: the key is in the map now */
  int (*get)(void* map, long long key, long long* value); /* 1: found; sets do not change *value */
  int (*remove)(void* map, long long key);                /* 1: the key was in the map */
  void (*close)(void* map);
};

static inline void nearfar_crash_print(long long key, long long value) {
  printf("%lld %lld\n", key, value);
}

/* Finds an unused key. A map that contains 1000 keys in a row from *key on is broken. */
static inline int nearfar_crash_free_key(const struct nearfar_crash_map* map, void* handle,
                                         long long* key) {
  long long value = 0, last = *key + 1000;
  while (map->get(handle, *key, &value)) {
    if (++*key == last) return 0;
  }
  return 1;
}

static inline const char* nearfar_crash_fault(const struct nearfar_crash_map* map, void* handle) {
  const long long value = 77;
  long long key = 1003, read = value;
  if (!nearfar_crash_free_key(map, handle, &key)) return "it finds whatever is asked for";
  if (!map->insert(handle, key, value)) return "it takes no new key";
  if (!map->get(handle, key, &read) || read != value) return "a new key is not found";
  if (!map->remove(handle, key)) return "a new key cannot be removed";
  if (map->get(handle, key, &read)) return "a removed key is still found";
  return (const char*)0;
}

static inline int nearfar_crash_judge(const struct nearfar_crash_map* map, const char* pool) {
  void* handle = map->open(pool);
  const char* fault = "the pool cannot be opened";
  if (handle != (void*)0) {
    map->each(handle, nearfar_crash_print);
    fflush(stdout);
    fault = nearfar_crash_fault(map, handle);
    map->close(handle);
  }
  if (fault) printf("! %s\n", fault);
  fflush(stdout);
  return fault ? 1 : 0;
}

#define NEARFAR_CRASH_MAP(map)                                                   \
  static int nearfar_crash_judge_map_(const char* pool, long done, long begun) { \
    (void)done, (void)begun;                                                     \
    return nearfar_crash_judge(&(map), pool);                                    \
  }                                                                              \
  NEARFAR_CRASH_CHECKER(nearfar_crash_judge_map_)                                \
  int main(int count, char** words) {                                            \
    return count > 1 ? nearfar_crash_judge(&(map), words[1]) : 2;                \
  }
#endif

#endif
