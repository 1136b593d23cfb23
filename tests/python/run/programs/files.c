/* Operations on the files behind a program's memory that the program does not know about. Exits
 * with 0 if all its data was right.
 *
 *   files fork    parent and child each get new memory after a fork
 *   files close   all descriptors are closed, as daemons do, and a number is used for a file */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { bytes = 4 << 20, most_descriptors = 64 };

__attribute__((noinline)) char* make_large(char value) {
  char* volatile large = malloc(bytes); /* no tail call, which would leave no frame */
  if (!large) abort();
  memset(large, value, bytes);
  return large;
}

static int holds(const char* large, char value) {
  for (size_t i = 0; i < bytes; ++i) {
    if (large[i] != value) return 0;
  }
  return 1;
}

static int after_fork(void) {
  free(make_large(1));
  int turn[2];
  if (pipe(turn)) return 1;
  const pid_t child = fork();
  char* large = make_large(child ? 2 : 3);
  if (child == 0) {
    /* The parent has written by now. */
    char letter = 0;
    if (read(turn[0], &letter, 1) != 1) _exit(1);
    _exit(!holds(large, 3));
  }
  if (write(turn[1], "x", 1) != 1) return 1;
  int status = 1;
  if (waitpid(child, &status, 0) != child || status) return 1;
  usleep(200000); /* a look at it all */
  return !holds(large, 2);
}

static int after_close(const char* folder) {
  char* first = make_large(1);
  for (int i = 3; i < most_descriptors; ++i) close(i);
  int files[most_descriptors];
  for (int i = 3; i < most_descriptors; ++i) files[i] = open(folder, O_TMPFILE | O_RDWR, 0600);
  char* second = make_large(2);
  for (int i = 3; i < most_descriptors; ++i) {
    struct stat status;
    if (fstat(files[i], &status) || status.st_size != 0) return 1;
  }
  usleep(200000);
  return !holds(first, 1) || !holds(second, 2);
}

int main(int count, char** words) {
  if (count < 2) return 2;
  return strcmp(words[1], "fork") == 0 ? after_fork() : after_close("/dev/shm");
}
