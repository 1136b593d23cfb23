/* The NVDIMM thesis' simulation with analysis, really run: two threads, two memories, two locks.
 *
 *   in_situ NODES SETS   analysis memory as NEARFAR_VALIDATE_MEMORY says (see memory.c)
 *
 * The producer multiplies a sparse matrix by a vector, waits for lock A, swaps the buffers, opens
 * lock B and makes the next set. The consumer waits for lock B, copies the set to its own memory,
 * opens lock A, sums it up five times and comes back. The same sets are then made and analysed one
 * after the other in near memory alone, which also says whether the pipeline's sums were right.
 *
 * Prints seconds: "total generate generate_idle transfer transfer_idle analyse" of the pipeline,
 * then "alone total generate analyse". Exit code 1: the sums differ. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kernel.h"

enum { edges_per_node = 8, sums_per_set = 5 };

static uint64_t nodes, sets;
static uint64_t* column; /* edges_per_node of each row */
static double* weight;

struct lock { /* open or shut; whoever passes shuts it */
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int open;
};
static struct lock lock_a = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 1};
static struct lock lock_b = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void pass(struct lock* lock) {
  pthread_mutex_lock(&lock->mutex);
  while (!lock->open) pthread_cond_wait(&lock->changed, &lock->mutex);
  lock->open = 0;
  pthread_mutex_unlock(&lock->mutex);
}

static void open_lock(struct lock* lock) {
  pthread_mutex_lock(&lock->mutex);
  lock->open = 1;
  pthread_cond_signal(&lock->changed);
  pthread_mutex_unlock(&lock->mutex);
}

static void* near_memory(uint64_t bytes) {
  void* memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    perror("in_situ: no memory");
    exit(3);
  }
  return memory;
}

static void prepare(void) {
  column = near_memory(nodes * edges_per_node * sizeof *column);
  weight = near_memory(nodes * edges_per_node * sizeof *weight);
  for (uint64_t i = 0; i < nodes * edges_per_node; i++) {
    column[i] = kernel_below(kernel_mix(i), nodes);
    weight[i] = 1.0 / edges_per_node;
  }
}

static void first(double* x) {
  for (uint64_t i = 0; i < nodes; i++) x[i] = (double)(kernel_mix(~i) % 1024);
}

static void generate(const double* from, double* to) {
  for (uint64_t row = 0; row < nodes; row++) {
    double sum = 0.0;
    for (uint64_t e = row * edges_per_node; e < (row + 1) * edges_per_node; e++) {
      sum += weight[e] * from[column[e]];
    }
    to[row] = sum;
  }
}

/* Kept from being joined into one pass by what it looks like to the compiler. */
static double analyse(const double* x) {
  double found = 0.0;
  for (int pass_number = 0; pass_number < sums_per_set; pass_number++) {
    double sum = 0.0;
    for (uint64_t i = 0; i < nodes; i++) sum += x[i];
    found += sum;
    __asm__ volatile("" : : "r"(x) : "memory");
  }
  return found;
}

static struct {
  double generate, generate_idle, transfer, transfer_idle, analyse;
} spent;
static double *made, *waiting, *own;
static double found;

static void* produce(void* unused) {
  (void)unused;
  for (uint64_t set = 0; set < sets; set++) {
    const double begun = now();
    generate(waiting, made);
    const double ready = now();
    pass(&lock_a);
    double* const old = waiting;
    waiting = made;
    made = old;
    open_lock(&lock_b);
    spent.generate += ready - begun;
    spent.generate_idle += now() - ready;
    /* The next set is made from the one that the consumer copies: both only read it. */
  }
  return NULL;
}

static void* consume(void* unused) {
  (void)unused;
  for (uint64_t set = 0; set < sets; set++) {
    const double begun = now();
    pass(&lock_b);
    const double ready = now();
    memcpy(own, waiting, nodes * sizeof *own);
    const double copied = now();
    open_lock(&lock_a);
    found += analyse(own);
    spent.transfer_idle += ready - begun;
    spent.transfer += copied - ready;
    spent.analyse += now() - copied;
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  nodes = strtoull(argv[1], NULL, 10);
  sets = strtoull(argv[2], NULL, 10);
  if (nodes == 0 || sets == 0) return 2;
  prepare();
  made = near_memory(nodes * sizeof *made);
  waiting = near_memory(nodes * sizeof *waiting);
  own = kernel_take(nodes * sizeof *own);
  first(waiting);
  const double begun = now();
  pthread_t producer, consumer;
  if (pthread_create(&producer, NULL, produce, NULL) != 0 ||
      pthread_create(&consumer, NULL, consume, NULL) != 0) {
    perror("in_situ: no threads");
    return 3;
  }
  pthread_join(producer, NULL);
  pthread_join(consumer, NULL);
  const double total = now() - begun;
  printf("%.9f %.9f %.9f %.9f %.9f %.9f\n", total, spent.generate, spent.generate_idle,
         spent.transfer, spent.transfer_idle, spent.analyse);

  first(waiting);
  double alone = 0.0, generated = 0.0;
  const double alone_begun = now();
  for (uint64_t set = 0; set < sets; set++) {
    const double set_begun = now();
    generate(waiting, made);
    generated += now() - set_begun;
    double* const old = waiting;
    waiting = made;
    made = old;
    alone += analyse(waiting);
  }
  const double alone_total = now() - alone_begun;
  printf("alone %.9f %.9f %.9f\n", alone_total, generated, alone_total - generated);
  if (alone != found) {
    fprintf(stderr, "in_situ: the pipeline found %.17g, one after the other %.17g\n", found, alone);
    return 1;
  }
  return 0;
}
