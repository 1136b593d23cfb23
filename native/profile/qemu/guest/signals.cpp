// Calls the program's signal handlers on a stack with the alignment that their code was compiled
// for.
//
// Code expects a stack whose top is 8 bytes below a multiple of 16 when a function begins, and
// stores pairs of words by instructions that fault elsewhere. QEMU 7.2 begins handlers at a
// multiple of 16 (fixed in QEMU 9.1), and Haskell's timer ends programs with SIGSEGV there.
#include <signal.h>

#include <bit>

#include "base/hooks.hpp"
#include "profile/qemu/guest/send.hpp"

using namespace nearfar::profile;

namespace {

using Handler = void(int, siginfo_t*, void*);
using SetAction = int(int, const struct sigaction*, struct sigaction*);
using SetHandler = sighandler_t(int, sighandler_t) noexcept;

// By signal, the program's handler. It stays when the signal's default action is set, because
// another thread may be about to call it.
Handler* handlers[NSIG];

// Aligns its own stack, and with it that of its callee.
__attribute__((force_align_arg_pointer)) void call_handler(int number, siginfo_t* info,
                                                           void* context) {
  __atomic_load_n(&handlers[number], __ATOMIC_ACQUIRE)(number, info, context);
}

bool is_ours(int number) {
  return ring != nullptr && ring->native == 0 && number > 0 && number < NSIG;
}

Handler* with_context(sighandler_t handler) { return std::bit_cast<Handler*>(handler); }
sighandler_t without_context(Handler* handler) { return std::bit_cast<sighandler_t>(handler); }

bool is_function(sighandler_t handler) {
  return handler != SIG_DFL && handler != SIG_IGN && handler != SIG_HOLD && handler != SIG_ERR;
}

// A change of a signal's action, which the kernel makes.
class Change {
 public:
  explicit Change(int number)
      : kept_(handlers[number]), before_(__atomic_load_n(&kept_, __ATOMIC_ACQUIRE)) {}

  // Keeps the program's handler, and returns what is called for it. `call_handler` comes from a
  // program that asked the C library for the action by a function without a hook.
  Handler* set(Handler* handler) {
    if (!is_function(without_context(handler))) return handler;
    if (handler != call_handler) __atomic_store_n(&kept_, handler, __ATOMIC_RELEASE);
    return call_handler;
  }
  void undo() { __atomic_store_n(&kept_, before_, __ATOMIC_RELEASE); }
  // Returns the program's handler for that of the kernel.
  [[nodiscard]] Handler* before(Handler* handler) const {
    return handler == call_handler ? before_ : handler;
  }

 private:
  Handler*& kept_;
  Handler* before_;
};

sighandler_t set_handler(SetHandler* real, int number, sighandler_t handler) {
  if (!is_ours(number)) return real(number, handler);
  Change change(number);
  const sighandler_t before = real(number, without_context(change.set(with_context(handler))));
  if (before == SIG_ERR) change.undo();
  return without_context(change.before(with_context(before)));
}

}  // namespace

#define NEARFAR_HOOK_SIGNAL(name)                                \
  sighandler_t name(int number, sighandler_t handler) noexcept { \
    NEARFAR_NEXT_AS(SetHandler*, name);                          \
    return set_handler(real, number, handler);                   \
  }

#pragma GCC visibility push(default)
extern "C" {

int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  NEARFAR_NEXT_AS(SetAction*, sigaction);
  if (!is_ours(number)) return real(number, action, before);
  Change change(number);
  struct sigaction ours {};
  if (action != nullptr) {
    ours = *action;
    ours.sa_sigaction = change.set(action->sa_sigaction);
  }
  const int result = real(number, action == nullptr ? nullptr : &ours, before);
  if (result != 0) {
    change.undo();
  } else if (before != nullptr) {
    before->sa_sigaction = change.before(before->sa_sigaction);
  }
  return result;
}

// In the C library these ask the kernel, without a call of the hook above.
NEARFAR_HOOK_SIGNAL(signal)
NEARFAR_HOOK_SIGNAL(__sysv_signal)  // signal of programs that are compiled by the C standard alone
NEARFAR_HOOK_SIGNAL(sigset)
}
#pragma GCC visibility pop
