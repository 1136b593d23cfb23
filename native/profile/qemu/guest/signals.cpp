// Calls the program's signal handlers with the stack alignment for which their code was compiled.
//
// When a function begins, code expects the top of the stack 8 bytes below a multiple of 16, and
// stores pairs of words by instructions that fault at other alignments. QEMU 7.2 starts handlers at
// a multiple of 16 (fixed in QEMU 9.1), so that, for example, the timer of Haskell's runtime ends
// programs with SIGSEGV.
#include <signal.h>

#include <bit>

#include "base/hooks.hpp"
#include "profile/qemu/guest/send.hpp"

using namespace nearfar::profile;

namespace {

using Handler = void(int, siginfo_t*, void*);
using SetAction = int(int, const struct sigaction*, struct sigaction*);
using SetHandler = sighandler_t(int, sighandler_t) noexcept;

// The program's handler for each signal. It is kept when the signal's default action is set,
// because another thread may be about to call it.
Handler* handlers[NSIG];

// Aligns its own stack and so that of its callee.
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

// A change of a signal's action by a system call.
class ActionChange {
 public:
  explicit ActionChange(int number)
      : kept_(handlers[number]), before_(__atomic_load_n(&kept_, __ATOMIC_ACQUIRE)) {}

  // Stores the program's handler and returns the handler for the kernel. If the new handler is
  // `call_handler` itself, the program got it from a function of the C library without a hook.
  Handler* set(Handler* handler) {
    if (!is_function(without_context(handler))) return handler;
    if (handler != call_handler) __atomic_store_n(&kept_, handler, __ATOMIC_RELEASE);
    return call_handler;
  }
  void undo() { __atomic_store_n(&kept_, before_, __ATOMIC_RELEASE); }
  // Returns the program's handler if `handler`, which the kernel reports, is `call_handler`.
  [[nodiscard]] Handler* before(Handler* handler) const {
    return handler == call_handler ? before_ : handler;
  }

 private:
  Handler*& kept_;
  Handler* before_;
};

sighandler_t set_handler(SetHandler* real, int number, sighandler_t handler) {
  if (!is_ours(number)) return real(number, handler);
  ActionChange change(number);
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
  ActionChange change(number);
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

// In the C library these functions make the system call directly, without the hook above.
NEARFAR_HOOK_SIGNAL(signal)
NEARFAR_HOOK_SIGNAL(__sysv_signal)  // `signal` if only the C standard is requested
NEARFAR_HOOK_SIGNAL(sigset)
}
#pragma GCC visibility pop
