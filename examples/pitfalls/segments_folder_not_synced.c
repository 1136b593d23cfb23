/* The file's data is durable, its name is not: POSIX promises it only after a sync of the folder.
 */
#include "segments.h"

static void add(const char* name, int number) {
  const int file = open(name, O_CREAT | O_WRONLY, 0644);
  write_at(file, 0, &number, sizeof number);
  must(fsync(file) == 0, "fsync");
  close(file);
}
