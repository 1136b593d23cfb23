/* A kernel: four functions and two numbers. harness.c runs it, memory.c allocates its memory.
 *
 * An operation is one look-up, one element or one step. Operations are numbered from 0. Each run
 * continues after the last operation of the run before, so that it does not find the same lines in
 * a cache.
 */
#ifndef NEARFAR_VALIDATE_KERNEL_H
#define NEARFAR_VALIDATE_KERNEL_H

#include <stdint.h>

/* Number of operations of one timed run: about 50 ms on DRAM of 2025. */
extern const uint64_t kernel_operations;
/* Accesses of one operation that may miss a cache; they determine the length of the warm-up. */
extern const double kernel_accesses;

/* Builds data of about `bytes` bytes, all allocated by kernel_take. */
void kernel_prepare(uint64_t bytes);
/* Performs `count` operations from number `first` on; returns a result to check. */
uint64_t kernel_perform(uint64_t first, uint64_t count);
/* Returns the right result of kernel_perform, computed in another way, perhaps from its data. */
uint64_t kernel_expected(uint64_t first, uint64_t count);

/* Returns zeroed memory of the kind in NEARFAR_VALIDATE_MEMORY, aligned to a line; never freed. */
void* kernel_take(uint64_t bytes);

/* splitmix64: its sequence contains every 64-bit value, so that every seed is good. */
static inline uint64_t kernel_mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15ull;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
  return value ^ (value >> 31);
}

/* Returns a uniform index below n: the high half of a product, without a division. */
static inline uint64_t kernel_below(uint64_t random, uint64_t n) {
  return (uint64_t)(((unsigned __int128)random * n) >> 64);
}

/* Return ns per read at random places of all memory taken: `accesses` reads to warm up, and as many
 * timed reads. Each depends on the one before, or all are independent. */
double kernel_dependent_ns(uint64_t accesses);
double kernel_independent_ns(uint64_t accesses);

/* A permutation of 0..n-1: position i of a shuffled deck (Fisher and Yates). */
void kernel_shuffle(uint32_t* deck, uint64_t n);

#endif
