/* The new file is synced before the rename, and the folder after it. */
#include "config.h"

static void replace(const char* text, unsigned bytes) {
  const int file = open("settings.new", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  write_at(file, 0, text, bytes);
  must(fsync(file) == 0, "fsync");
  close(file);
  must(rename("settings.new", "settings") == 0, "rename");
  sync_folder();
}
