/* The old settings are truncated before the new ones are written. */
#include "config.h"

static void replace(const char* text, unsigned bytes) {
  const int file = open("settings", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  must(fsync(file) == 0, "fsync");
  write_at(file, 0, text, bytes);
  must(fsync(file) == 0, "fsync");
  close(file);
  sync_folder();
}
