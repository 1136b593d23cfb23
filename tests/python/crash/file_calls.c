// Changes files in the folder given, by each call that nearfar records.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void need(int works, const char* what) {
  if (works) return;
  perror(what);
  exit(9);
}

static void* in_thread(void* unused) {
  const int file = open("thread", O_CREAT | O_WRONLY, 0600);
  need(write(file, "t", 1) == 1, "thread");
  close(file);
  return unused;
}

int main(int count, char** words) {
  need(count == 3 && chdir(words[1]) == 0, "chdir");
  FILE* stream = fopen("stream", "w");
  fprintf(stream, "stdio %d\n", 5);
  fclose(stream);
  const int file = open("a", O_CREAT | O_RDWR | O_TRUNC, 0644);
  need(write(file, "abc", 3) == 3 && pwrite(file, "XY", 2, 10) == 2, "write");
  const struct iovec parts[2] = {{"11", 2}, {"222", 3}};
  need(writev(file, parts, 2) == 5 && fdatasync(file) == 0, "writev");
  const int copy = dup(file);
  need(write(copy, "dup", 3) == 3, "dup");
  const int end = open("a", O_WRONLY | O_APPEND);
  need(write(end, "APP", 3) == 3, "append");
  need(mkdir("sub", 0755) == 0 && rename("stream", "sub/renamed") == 0, "rename");
  need(link("a", "b") == 0 && symlink("a", "s") == 0 && unlink("b") == 0, "link");
  need(ftruncate(file, 8192) == 0, "ftruncate");
  char* map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  need(map != MAP_FAILED, "mmap");
  map[5000] = 7;
  map[1] = 9;
  need(msync(map, 8192, MS_SYNC) == 0, "msync");
  map[2] = 1;
  need(fallocate(file, 0, 8192, 4096) == 0, "fallocate");
  const pid_t child = fork();
  if (child == 0) {
    const int durable = open("child", O_CREAT | O_WRONLY | O_DSYNC, 0600);
    _exit(write(durable, "c", 1) != 1);
  }
  waitpid(child, NULL, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  const int folder = open(".", O_RDONLY);
  need(fsync(folder) == 0, "fsync");
  // Refused, and so done by ordinary calls in most programs.
  need(syscall(SYS_io_uring_setup, 8, NULL) < 0, "io_uring");
  unsigned long context = 0;
  need(syscall(SYS_io_setup, 8, &context) < 0, "aio");
  puts("committed");
  fflush(stdout);
  sync();
  need(unlink("a") == 0 && rmdir("nothing") != 0, "unlink");
  const int elsewhere = open(words[2], O_CREAT | O_WRONLY, 0600);
  need(write(elsewhere, "x", 1) == 1, "elsewhere");
  return 3;
}
