/* The old settings are removed before the new ones get their name, as on systems whose rename
 * does not replace files. */
#include "config.h"

static void replace(const char* text, unsigned bytes) {
  const int file = open("settings.new", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  write_at(file, 0, text, bytes);
  must(fsync(file) == 0, "fsync");
  close(file);
  unlink("settings");
  sync_folder();
  must(rename("settings.new", "settings") == 0, "rename");
  sync_folder();
}
