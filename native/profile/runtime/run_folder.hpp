// The folder with the files of a profiled run.
#pragma once

#include <stdio.h>
#include <stdlib.h>

namespace nearfar::profile {

// Environment variable with the run's folder; without it both libraries do nothing.
inline constexpr const char* run_folder_variable = "NEARFAR_RUN_DIR";

// The verb creates run folders with short names in /dev/shm or TMPDIR.
inline constexpr unsigned path_size = 512;

// Writes the path of `name` in the run folder; returns false if there is no run.
inline bool run_folder_file(char (&path)[path_size], const char* name) {
  const char* folder = getenv(run_folder_variable);
  if (folder == nullptr || *folder == '\0') return false;
  const int length = snprintf(path, path_size, "%s/%s", folder, name);
  return length > 0 && static_cast<unsigned>(length) < path_size;
}

}  // namespace nearfar::profile
