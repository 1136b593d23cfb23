/* Tells `nearfar crash` where operations begin and end. C and C++, nothing to link: where the
 * program does not run under it, a mark is one test of a null pointer.
 *
 *   #include <nearfar/crash.h>
 *   NEARFAR_CRASH_BEGIN(i);
 *   insert(map, keys[i]);
 *   NEARFAR_CRASH_END(i);      // what it did must survive from here on
 *
 * The end of an operation is a point where power is cut, also without a fence. The checker may ask
 * how far the program was: `--check 'CHECK {pool} {done} {begun}'` gets the numbers of the last
 * operation that ended and of the last that began, -1 for none.
 *
 * Of a map or a set, say what the operation is, and nearfar knows what must be there:
 *
 *   NEARFAR_CRASH_OP("insert", key, value);     // insert, remove or get; of a set any value
 *   int worked = insert(map, key, value);
 *   NEARFAR_CRASH_OUTCOME(worked);              // 0: it changed nothing (get: found nothing)
 *
 * `--dump 'DUMP {pool}'` then prints what an image holds, a line for each key: "key value", of a
 * set "key". It must be what completed operations left, with those in flight done or not, thread by
 * thread. NEARFAR_CRASH_OP_TEXT takes strings. A thread's operations do not nest.
 *
 * A DUMP in a few lines of C, which also asks whether the map still works: see below.
 */
#ifndef NEARFAR_CRASH_H
#define NEARFAR_CRASH_H

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) void nearfar_crash_begin(unsigned long operation);
__attribute__((weak)) void nearfar_crash_end(unsigned long operation);
/* Key and value as text, or, where both texts are null, as numbers. */
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

/* A checker that is called in one process that stays, instead of being started for each image:
 *   static int check(const char* pool, long done, long begun) { ... return 0; }   // 0: it is fine
 *   NEARFAR_CRASH_CHECKER(check)
 * in the program of `--check './program {pool}'`, or in a shared object. It must close the pool. */
typedef int (*nearfar_crash_checker_function)(const char* pool, long done, long begun);
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((weak)) void
    nearfar_crash_checker(nearfar_crash_checker_function check);
/* Within a check: how many operations had begun and not ended, and which. */
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((weak)) unsigned
    nearfar_crash_in_flight(const long** operations);
#define NEARFAR_CRASH_CHECKER(function)                                            \
  __attribute__((constructor)) static void nearfar_crash_checker_register_(void) { \
    if (nearfar_crash_checker) nearfar_crash_checker(function);                    \
  }

/* An adapter of a map whose keys and values are numbers:
 *
 *   #define NEARFAR_CRASH_ADAPTER
 *   #include <nearfar/crash.h>
 *   ... functions of a map of one's own ...
 *   static const struct nearfar_crash_map map = {open_map, each, insert, get, drop, close_map};
 *   NEARFAR_CRASH_MAP(map)
 *
 * It prints the content, then inserts, finds and removes one key that is not there. */
#ifdef NEARFAR_CRASH_ADAPTER
#include <stdio.h>

struct nearfar_crash_map {
  void* (*open)(const char* pool); /* recovers it; null: it cannot */
  /* Calls say(key, value) for each key. */
  void (*each)(void* map, void (*say)(long long key, long long value));
  int (*insert)(void* map, long long key, long long value); /* 1: it is there now */
  int (*get)(void* map, long long key, long long* value);   /* 1: found; of a set value stays */
  int (*remove)(void* map, long long key);                  /* 1: it was there */
  void (*close)(void* map);
};

static inline void nearfar_crash_say(long long key, long long value) {
  printf("%lld %lld\n", key, value);
}

/* A key that none has; more than these in a row are not keys but a broken map. */
static inline int nearfar_crash_free_key(const struct nearfar_crash_map* map, void* it,
                                         long long* key) {
  long long found = 0, last = *key + 1000;
  while (map->get(it, *key, &found)) {
    if (++*key == last) return 0;
  }
  return 1;
}

static inline const char* nearfar_crash_fault(const struct nearfar_crash_map* map, void* it) {
  const long long value = 77;
  long long key = 1003, found = value;
  if (!nearfar_crash_free_key(map, it, &key)) return "it finds whatever is asked for";
  if (!map->insert(it, key, value)) return "it takes no new key";
  if (!map->get(it, key, &found) || found != value) return "a new key is not found";
  if (!map->remove(it, key)) return "a new key cannot be removed";
  if (map->get(it, key, &found)) return "a removed key is still found";
  return (const char*)0;
}

static inline int nearfar_crash_judge(const struct nearfar_crash_map* map, const char* pool) {
  void* it = map->open(pool);
  const char* fault = "the pool cannot be opened";
  if (it != (void*)0) {
    map->each(it, nearfar_crash_say);
    fflush(stdout);
    fault = nearfar_crash_fault(map, it);
    map->close(it);
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
