// Questions to the verb, over a socket in the run folder that is connected for each: a program may
// close any descriptor it finds.
#pragma once

#include "run/table.h"

namespace nearfar::run {

// Remembers where the socket is; false: the path is too long for one.
bool set_socket(const char* folder);
// False: nobody answered.
bool ask(nf_run_ask& question, nf_run_answer& answer);
// A question without an answer worth having.
void tell(nf_run_message message);

}  // namespace nearfar::run
