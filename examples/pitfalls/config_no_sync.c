/* The rename may be durable before the data of the new file: the settings are then empty. */
#include "config.h"

static void replace(const char* text, unsigned bytes) {
  const int file = open("settings.new", O_CREAT | O_TRUNC | O_WRONLY, 0644);
  write_at(file, 0, text, bytes);
  close(file);
  must(rename("settings.new", "settings") == 0, "rename");
  sync_folder();
}
