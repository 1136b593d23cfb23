#include "crash/signals.hpp"

#include <string.h>

#include "base/hooks.hpp"
#include "crash/recorder.hpp"

namespace nearfar::crash {

namespace {

struct SavedAction {
  int number;
  bool installed;
  struct sigaction program_action;
};
SavedAction saved_actions[] = {{SIGSEGV, false, {}}, {SIGTRAP, false, {}}};

using SetAction = int(int, const struct sigaction*, struct sigaction*);

int set_action(int number, const struct sigaction* action, struct sigaction* before) {
  NEARFAR_NEXT_AS(SetAction*, sigaction);
  return real(number, action, before);
}

SavedAction* find(int number) {
  for (SavedAction& saved : saved_actions) {
    if (saved.number == number && saved.installed) return &saved;
  }
  return nullptr;
}

// A store to the pool would end the program if its thread blocks the fault's signal.
void unblock_ours(sigset_t& blocked) {
  for (const SavedAction& saved : saved_actions) sigdelset(&blocked, saved.number);
}

using SetMask = int(int, const sigset_t*, sigset_t*);

int set_mask(SetMask* real, int how, const sigset_t* wanted, sigset_t* before) {
  if (wanted == nullptr || how == SIG_UNBLOCK || header() == nullptr) {
    return real(how, wanted, before);
  }
  sigset_t blocked = *wanted;
  unblock_ours(blocked);
  return real(how, &blocked, before);
}

}  // namespace

void install_handler(int number, void (*handler)(int, siginfo_t*, void*)) {
  for (SavedAction& saved : saved_actions) {
    if (saved.number != number || saved.installed) continue;
    struct sigaction ours {};
    ours.sa_sigaction = handler;
    // Blocks all signals: no code of the program may run between a store and its record.
    sigfillset(&ours.sa_mask);
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    set_action(number, &ours, &saved.program_action);
    saved.installed = true;
  }
}

void call_program_handler(int number, siginfo_t* info, void* context) {
  SavedAction* const saved = find(number);
  if (saved != nullptr && (saved->program_action.sa_flags & SA_SIGINFO) != 0) {
    saved->program_action.sa_sigaction(number, info, context);
    return;
  }
  if (saved != nullptr && saved->program_action.sa_handler != SIG_DFL &&
      saved->program_action.sa_handler != SIG_IGN) {
    saved->program_action.sa_handler(number);
    return;
  }
  {
    Lock const lock;
    if (recording()) record_pending();
  }
  // The instruction runs again and faults, now with the signal's default action.
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  set_action(number, &plain, nullptr);
}

}  // namespace nearfar::crash

using namespace nearfar::crash;

#pragma GCC visibility push(default)
extern "C" {

int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  SavedAction* const saved = find(number);
  if (saved == nullptr) {
    if (action == nullptr || header() == nullptr) return set_action(number, action, before);
    struct sigaction wanted = *action;
    unblock_ours(wanted.sa_mask);
    return set_action(number, &wanted, before);
  }
  if (before != nullptr) *before = saved->program_action;
  if (action != nullptr) saved->program_action = *action;
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
