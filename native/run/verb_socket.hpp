// Requests to the verb, over a socket in the run folder. Each request connects again, because a
// program may close any descriptor.
#pragma once

#include "run/table.h"

namespace nearfar::run {

// Sets the socket's path; false: it is too long.
bool set_socket(const char* folder);
// Sends a request; false: no answer.
bool ask(nf_run_ask& question, nf_run_answer& answer);
// Sends a message and ignores the answer.
void tell(nf_run_message message);

// Makes this process known to the verb, which looks at its pages from then on: at once or, for the
// sake of short-lived children, when they ask or grow.
void introduce();
void introduce_again_in_child();

}  // namespace nearfar::run
