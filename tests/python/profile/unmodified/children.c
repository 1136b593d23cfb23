/* Forks a child that allocates and ends, one that runs another program, and works on itself. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static char* make_block(void) { return malloc(1 << 20); }

static int child(int which) {
  const pid_t pid = fork();
  if (pid == 0) {
    if (which == 1) {
      execl("/bin/true", "true", (char*)NULL);
      _exit(9);
    }
    char* block = make_block();
    for (int i = 0; i < 100; ++i) {
      memset(block, i, 1 << 20);
      __asm__ volatile("" : : "r"(block) : "memory");
    }
    /* Much of the program's time, and little of QEMU's. */
    for (int i = 0; i < 1000000; ++i) syscall(SYS_getppid);
    free(block);
    exit(0);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

int main(void) {
  int bad = child(0);
  bad |= child(1);
  volatile char* block = make_block();
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 1 << 20; i += 64) block[i]++;
  }
  free((void*)block);
  bad |= system("exit 0");
  return bad;
}
