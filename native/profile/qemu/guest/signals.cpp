// Calls the program's signal handlers on a stack with the alignment that their code was compiled
// for.
//
// Code expects a stack whose top is 8 bytes below a multiple of 16 when a function begins, and
// stores pairs of words by instructions that fault elsewhere. QEMU 7.2 begins handlers at a
// multiple of 16 (fixed in QEMU 9.1), and Haskell's timer ends programs with SIGSEGV there.
#include <errno.h>
#include <signal.h>

#include "base/hooks.hpp"
#include "profile/qemu/guest/send.hpp"

using namespace nearfar::profile;

namespace {

using Handler = void(int, siginfo_t*, void*);
using SetAction = int(int, const struct sigaction*, struct sigaction*);

// By signal, the program's handler. It stays when the signal's default action is set, because
// another thread may be about to call it.
Handler* handlers[NSIG];

// Aligns its own stack, and with it that of its callee.
__attribute__((force_align_arg_pointer)) void call_handler(int number, siginfo_t* info,
                                                           void* context) {
  __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE)(number, info, context);
}

bool under_qemu() { return ring != nullptr && ring->native == 0; }

bool is_function(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

int set_action(int number, const struct sigaction* action, struct sigaction* before) {
  NEARFAR_NEXT_AS(SetAction*, sigaction);
  if (!under_qemu() || number <= 0 || number >= NSIG) return real(number, action, before);
  Handler* const handler = __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE);
  struct sigaction ours {};
  if (action != nullptr) {
    ours = *action;
    if (is_function(ours)) {
      __atomic_store_n(&handlers[number], ours.sa_sigaction, __ATOMIC_RELEASE);
      ours.sa_sigaction = call_handler;
    }
  }
  const int result = real(number, action == nullptr ? nullptr : &ours, before);
  if (result != 0) {
    __atomic_store_n(&handlers[number], handler, __ATOMIC_RELEASE);
  } else if (before != nullptr && before->sa_sigaction == call_handler) {
    before->sa_sigaction = handler;
  }
  return result;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  return set_action(number, action, before);
}

sighandler_t signal(int number, sighandler_t handler) noexcept {
  NEARFAR_NEXT(signal);
  if (!under_qemu()) return real(number, handler);
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaddset(&action.sa_mask, number);
  return set_action(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}
}
#pragma GCC visibility pop
