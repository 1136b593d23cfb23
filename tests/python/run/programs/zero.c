/* Children of a program with threads that write to far memory all the time: what calloc gives them
 * is zero. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 2, ROUNDS = 8, BYTES = 256 << 10, BLOCKS = 120, PAGE = 4096 };

__attribute__((noinline)) char* make_block(size_t bytes) {
  char* const block = calloc(1, bytes);
  if (block == NULL) exit(3);
  return block;
}

/* Takes new memory all the time, and gives it back at the end. */
static void* in_thread(void* nothing) {
  char* blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; ++i) memset(blocks[i] = make_block(BYTES), 9, BYTES);
  for (int i = 0; i < BLOCKS; ++i) free(blocks[i]);
  return nothing;
}

static int in_child(void) {
  for (int i = 0; i < BLOCKS; ++i) {
    const char* const block = make_block(BYTES);
    for (int at = 0; at < BYTES; at += PAGE) {
      if (block[at] != 0) return 1;
    }
  }
  return 0;
}

static int round_of_threads(void) {
  pthread_t threads[THREADS];
  int wrong = 0;
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, in_thread, NULL);
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(in_child());
    int status = 0;
    waitpid(child, &status, 0);
    wrong += status != 0;
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  return wrong;
}

int main(void) {
  int wrong = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    free(make_block(BYTES));
    wrong += round_of_threads();
  }
  printf("%d children\n", wrong);
  return wrong != 0;
}
