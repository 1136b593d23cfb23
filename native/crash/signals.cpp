#include "crash/signals.hpp"

#include <string.h>

#include "base/hooks.hpp"
#include "crash/recorder.hpp"

namespace nearfar::crash {

namespace {

struct Kept {
  int number;
  bool taken;
  struct sigaction theirs;
};
Kept kept[] = {{SIGSEGV, false, {}}, {SIGTRAP, false, {}}};

using SetAction = int(int, const struct sigaction*, struct sigaction*);

int set_action(int number, const struct sigaction* action, struct sigaction* before) {
  NEARFAR_NEXT_AS(SetAction*, sigaction);
  return real(number, action, before);
}

Kept* find(int number) {
  for (Kept& one : kept) {
    if (one.number == number && one.taken) return &one;
  }
  return nullptr;
}

// A store to the pool by a thread that blocks the fault's signal would end the program.
void keep_ours(sigset_t& blocked) {
  for (const Kept& one : kept) sigdelset(&blocked, one.number);
}

using SetMask = int(int, const sigset_t*, sigset_t*);

int set_mask(SetMask* real, int how, const sigset_t* wanted, sigset_t* before) {
  if (wanted == nullptr || how == SIG_UNBLOCK || header() == nullptr) {
    return real(how, wanted, before);
  }
  sigset_t blocked = *wanted;
  keep_ours(blocked);
  return real(how, &blocked, before);
}

}  // namespace

void take_signal(int number, void (*handler)(int, siginfo_t*, void*)) {
  for (Kept& one : kept) {
    if (one.number != number || one.taken) continue;
    struct sigaction ours {};
    ours.sa_sigaction = handler;
    // Nothing of the program's may run between a store and the telling of it.
    sigfillset(&ours.sa_mask);
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    set_action(number, &ours, &one.theirs);
    one.taken = true;
  }
}

void pass_on(int number, siginfo_t* info, void* context) {
  Kept* const one = find(number);
  if (one != nullptr && (one->theirs.sa_flags & SA_SIGINFO) != 0) {
    one->theirs.sa_sigaction(number, info, context);
    return;
  }
  if (one != nullptr && one->theirs.sa_handler != SIG_DFL && one->theirs.sa_handler != SIG_IGN) {
    one->theirs.sa_handler(number);
    return;
  }
  {
    Lock const lock;
    if (recording()) sweep();
  }
  // The instruction runs again and does what it would have done without us.
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  set_action(number, &plain, nullptr);
}

}  // namespace nearfar::crash

using namespace nearfar::crash;

#pragma GCC visibility push(default)
extern "C" {

int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  Kept* const one = find(number);
  if (one == nullptr) {
    if (action == nullptr || header() == nullptr) return set_action(number, action, before);
    struct sigaction wanted = *action;
    keep_ours(wanted.sa_mask);
    return set_action(number, &wanted, before);
  }
  if (before != nullptr) *before = one->theirs;
  if (action != nullptr) one->theirs = *action;
  return 0;
}

sighandler_t signal(int number, sighandler_t handler) noexcept {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  if (sigaction(number, &action, &before) != 0) return SIG_ERR;
  return before.sa_handler;
}

int pthread_sigmask(int how, const sigset_t* wanted, sigset_t* before) noexcept {
  NEARFAR_NEXT_AS(SetMask*, pthread_sigmask);
  return set_mask(real, how, wanted, before);
}

int sigprocmask(int how, const sigset_t* wanted, sigset_t* before) noexcept {
  NEARFAR_NEXT_AS(SetMask*, sigprocmask);
  return set_mask(real, how, wanted, before);
}
}
#pragma GCC visibility pop
