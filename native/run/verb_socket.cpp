#include "run/verb_socket.hpp"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "run/state.hpp"

namespace nearfar::run {

namespace {

sockaddr_un address{};
bool known = false;
bool introduced = false;

// Longer than the verb needs to read the symbols of a large program. After this time, it must have
// ended or been stopped.
constexpr time_t timeout_s = 60;

bool exchange(int descriptor, nf_run_ask& question, nf_run_answer& answer) {
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return false;
  const timeval timeout{timeout_s, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  if (send(descriptor, &question, sizeof question, MSG_NOSIGNAL) != sizeof question) return false;
  for (;;) {
    const ssize_t received = recv(descriptor, &answer, sizeof answer, 0);
    if (received < 0 && errno == EINTR) continue;
    return received == sizeof answer;
  }
}

}  // namespace

bool set_socket(const char* folder) {
  address.sun_family = AF_UNIX;
  const int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
  known = length > 0 && static_cast<std::size_t>(length) < sizeof address.sun_path;
  return known;
}

bool ask(nf_run_ask& question, nf_run_answer& answer) {
  if (!known) return false;
  const int error = errno;
  question.pid = getpid();
  question.state = reinterpret_cast<std::uint64_t>(&state);
  const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const bool answered = descriptor >= 0 && exchange(descriptor, question, answer);
  if (descriptor >= 0) close(descriptor);
  errno = error;
  return answered;
}

void tell(nf_run_message message) {
  nf_run_ask question{};
  nf_run_answer answer{};
  question.message = message;
  ask(question, answer);
}

void introduce() {
  if (!__atomic_exchange_n(&introduced, true, __ATOMIC_ACQ_REL)) tell(NF_RUN_HELLO);
}

void introduce_again_in_child() { introduced = false; }

}  // namespace nearfar::run
