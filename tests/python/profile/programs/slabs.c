/* One place allocates blocks of three sizes, for users and for orders: what tells them apart is
 * their size, and what the program says they are for. */
#include <nearfar/mark.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { blocks = 3000 };

__attribute__((noinline)) static char* item(size_t size) {
  char* block = malloc(size);
  memset(block, 1, size);
  return block;
}

static char* kept[4][blocks];

static uint64_t fill(int place, size_t size) {
  uint64_t sum = 0;
  for (int i = 0; i < blocks; i++) kept[place][i] = item(size);
  for (int i = 0; i < blocks; i++) sum += (uint64_t)kept[place][i][size / 2];
  return sum;
}

static uint64_t users(void) {
  NEARFAR_TAG("users");
  uint64_t sum = fill(1, 240);
  {
    NEARFAR_TAG("orders");
    sum += fill(2, 240);
  }
  kept[0][0] = item(900); /* "users" again */
  return sum;
}

static void* other_thread(void* sum) {
  *(uint64_t*)sum += fill(3, 1000); /* a tag is its thread's: none here */
  return NULL;
}

int main(int count, char** words) {
  NEARFAR_BEGIN("fill");
  uint64_t sum = fill(0, 40);
  sum += users();
  {
    NEARFAR_TAG("main");
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, &sum);
    pthread_join(thread, NULL);
    if (count > 1 && words[1][0] == 'f') {
      const pid_t child = fork();
      if (child == 0) {
        fill(0, 5000);
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
  }
  NEARFAR_END("fill", blocks);
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}
