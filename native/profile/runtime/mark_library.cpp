// libnearfar_mark.so: phases and their times in a plain build. The profiling library has the same
// functions.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nearfar/mark.h"
#include "profile/runtime/control.h"
#include "profile/runtime/run_folder.hpp"

namespace {

// The control page, mapped at the first mark if there is a run folder.
nf_control* control() {
  static nf_control* mapped = nullptr;
  static bool tried = false;
  if (!tried) {
    tried = true;
    char path[nearfar::profile::path_size];
    if (nearfar::profile::run_folder_file(path, "control")) mapped = nf_control_open(path);
  }
  return mapped;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void nearfar_phase_begin(const char* name) {
  if (nf_control* shared = control()) nf_control_begin(shared, getpid(), name);
}

extern "C" [[gnu::visibility("default")]] void nearfar_phase_end(const char* name,
                                                                 double operations) {
  if (nf_control* shared = control()) nf_control_end(shared, getpid(), name, operations);
}
