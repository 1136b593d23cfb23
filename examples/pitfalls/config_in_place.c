/* The settings are overwritten in place: a power cut leaves a mixture or nothing. */
#include "config.h"

static void replace(const char* text, unsigned bytes) {
  const int file = open("settings", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  write_at(file, 0, text, bytes);
  must(fsync(file) == 0, "fsync");
  close(file);
  sync_folder();
}
