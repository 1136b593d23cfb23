#include "crash/checker/calls.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>

// System calls from this code are never stopped: one call, and the return from a signal handler.
asm(R"(
  .pushsection .text
  .balign 16
  .globl nearfar_crash_unstopped
  .hidden nearfar_crash_unstopped
nearfar_crash_unstopped:
  .globl nearfar_crash_unstopped_call
  .hidden nearfar_crash_unstopped_call
  .type nearfar_crash_unstopped_call, @function
nearfar_crash_unstopped_call:
  endbr64
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
  ret
  .globl nearfar_crash_end_of_handler
  .hidden nearfar_crash_end_of_handler
nearfar_crash_end_of_handler:
  mov $15, %eax
  syscall
  ud2
  .globl nearfar_crash_unstopped_end
  .hidden nearfar_crash_unstopped_end
nearfar_crash_unstopped_end:
  .popsection
)");

extern "C" {
extern const char nearfar_crash_unstopped[];
extern const char nearfar_crash_unstopped_end[];
void nearfar_crash_end_of_handler();
}

namespace nearfar::crash {

namespace {

// From linux/prctl.h of newer systems.
constexpr long set_dispatch = 59;
constexpr long dispatch_off = 0;
constexpr long dispatch_on = 1;
constexpr char is_stopped = 1;

// The kernel's struct sigaction. Its restorer must be code whose system calls are not stopped.
struct Action {
  SignalHandler* handler;
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};
constexpr unsigned long has_restorer = 0x04000000;

constexpr int signals[] = {SIGSEGV, SIGSYS};
// All other signals are blocked during a handler: their handlers may fault or make system calls,
// and either would end the process.
constexpr unsigned long others = ~(1UL << (SIGSEGV - 1) | 1UL << (SIGSYS - 1));
Action before[2];
bool stops = false;
volatile char selector = 0;

long set_action(int signal, const Action* fresh, Action* old) {
  return unstopped_call(SYS_rt_sigaction, signal, reinterpret_cast<long>(fresh),
                        reinterpret_cast<long>(old), sizeof(unsigned long));
}

}  // namespace

Unstopped::Unstopped() : before_(selector) { selector = 0; }
// The stopping of calls may have ended in the meantime.
Unstopped::~Unstopped() { selector = stops ? before_ : char{0}; }

bool stop_calls(SignalHandler* on_fault, SignalHandler* on_call) {
  if (stops) {
    stops = false;
    selector = 0;
    unstopped_call(SYS_prctl, set_dispatch, dispatch_off);
    for (int i = 0; i < 2; ++i) set_action(signals[i], &before[i], nullptr);
  }
  if (on_fault == nullptr) return true;
  // The kernel ends a process that blocks one of these signals.
  unsigned long blocked = 0;
  unstopped_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, reinterpret_cast<long>(&blocked),
                 sizeof blocked);
  for (const int signal : signals) {
    if ((blocked >> (signal - 1) & 1) != 0) return false;
  }
  SignalHandler* const handlers[] = {on_fault, on_call};
  for (int i = 0; i < 2; ++i) {
    const Action fresh{handlers[i], SA_SIGINFO | has_restorer, nearfar_crash_end_of_handler,
                       others};
    set_action(signals[i], &fresh, &before[i]);
  }
  stops = true;
  const long begin = reinterpret_cast<long>(nearfar_crash_unstopped);
  const long bytes = nearfar_crash_unstopped_end - nearfar_crash_unstopped;
  if (unstopped_call(SYS_prctl, set_dispatch, dispatch_on, begin, bytes,
                     reinterpret_cast<long>(&selector)) != 0) {
    stop_calls(nullptr, nullptr);
    return false;
  }
  selector = is_stopped;
  return true;
}

}  // namespace nearfar::crash
