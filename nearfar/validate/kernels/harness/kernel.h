/* What a kernel is: four functions and two numbers; harness.c runs it, memory.c gives it memory.
 *
 * An operation is one look-up, one element, one step. Operations are numbered from 0 on and each
 * run does the ones after the last, so that none finds in a cache what its twin of the run before
 * left there.
 */
#ifndef NEARFAR_VALIDATE_KERNEL_H
#define NEARFAR_VALIDATE_KERNEL_H

#include <stdint.h>

/* Of one timed run: some 50 ms on today's DRAM. */
extern const uint64_t kernel_operations;
/* Memory accesses of one operation that a cache could miss: says how long to warm up. */
extern const double kernel_accesses;

/* Builds data of about so many bytes, all of it from kernel_take. */
void kernel_prepare(uint64_t bytes);
/* Does `count` operations from number `first` on; returns what they found. */
uint64_t kernel_perform(uint64_t first, uint64_t count);
/* What kernel_perform must have returned, worked out some other way; may look at what it left. */
uint64_t kernel_expected(uint64_t first, uint64_t count);

/* Zeroed memory that begins at a cache line, where NEARFAR_VALIDATE_MEMORY says. Never freed. */
void* kernel_take(uint64_t bytes);

/* splitmix64: its sequence visits every 64-bit value, and has no bad seed. */
static inline uint64_t kernel_mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15ull;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

/* A place below n, evenly: the high half of a product, which costs no division. */
static inline uint64_t kernel_below(uint64_t random, uint64_t n) {
  return (uint64_t)(((unsigned __int128)random * n) >> 64);
}

/* ns per read at random places of all memory taken: `accesses` to warm up, and as many that are
 * timed. Each waits for the one before, or none does. Reads only. */
double kernel_dependent_ns(uint64_t accesses);
double kernel_independent_ns(uint64_t accesses);

/* A permutation of 0..n-1: position i of a shuffled deck (Fisher and Yates). */
void kernel_shuffle(uint32_t* deck, uint64_t n);

#endif
