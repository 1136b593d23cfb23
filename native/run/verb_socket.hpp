// Requests to the verb, over a socket in the run folder. Each request opens a new connection,
// because a program may close any descriptor.
#pragma once

#include "run/table.h"

namespace nearfar::run {

// Sets the socket's path; returns false if it is too long.
bool set_socket(const char* folder);
// Sends a request; returns false if there is no answer.
bool ask(nf_run_ask& question, nf_run_answer& answer);
// Sends a message and ignores the answer.
void tell(nf_run_message message);

// Announces this process to the verb, which observes its pages from then on. The program does so at
// once; short-lived children only when they ask or grow, because announcing takes time.
void introduce();
void introduce_again_in_child();

}  // namespace nearfar::run
