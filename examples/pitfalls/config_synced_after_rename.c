/* The new file is synced after the rename: a power cut between the two finds its name without its
 * content. */
#include "config.h"

static void replace(const char* text, unsigned bytes) {
  const int file = open("settings.new", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  write_at(file, 0, text, bytes);
  must(rename("settings.new", "settings") == 0, "rename");
  must(fsync(file) == 0, "fsync");
  close(file);
  sync_folder();
}
