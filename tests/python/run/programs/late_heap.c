/* Children whose threads take their first far block while they fork.
 *
 *   late_heap          prints how many mappings a program without far blocks has for their heap,
 * and how many with one; then how many children and their children failed */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 200, FORKS = 4, BYTES = 128, PATIENCE_S = 20 };

static pthread_barrier_t barrier;

__attribute__((noinline)) char* make_far(void) {
  char* const block = malloc(BYTES);
  if (block == NULL) exit(3);
  return memset(block, 7, BYTES);
}

/* The tables of the heap of far blocks begin at this address. */
static int mappings_of_heap(void) {
  int count = 0;
  char line[512];
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) count += strncmp(line, "17", 2) == 0;
  fclose(maps);
  return count;
}

static void* in_thread(void* nothing) {
  pthread_barrier_wait(&barrier);
  free(make_far());
  return nothing;
}

static int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}

static int in_child(void) {
  pthread_t thread;
  int wrong = 0;
  alarm(PATIENCE_S);
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < FORKS; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(PATIENCE_S);
      free(make_far());
      _exit(0);
    }
    wrong += wait_for(child);
  }
  pthread_join(thread, NULL);
  free(make_far());
  return wrong;
}

int main(void) {
  int wrong = 0;
  const int before = mappings_of_heap();
  for (int i = 0; i < CHILDREN && wrong == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(in_child());
    wrong += wait_for(child);
  }
  free(make_far());
  printf("%d %d %d\n", before, mappings_of_heap() > 0, wrong);
  return 0;
}
