// Signal handlers that need an aligned stack, on the usual and on a small stack of their own;
// exits with the number of the first check that failed.
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // of siginterrupt and sigset
extern int __sigaction(int, const struct sigaction*, struct sigaction*);

static volatile int calls, misaligned, signal_number;
static sigjmp_buf before_fault;

static void check_stack(void) {
  _Alignas(16) char pair[16];
  char* address = pair;
  __asm__ volatile("" : "+r"(address) : : "memory");  // else the compiler assumes it
  if ((uintptr_t)address % 16 != 0) misaligned++;
}

static void plain(int number) {
  check_stack();
  signal_number = number;
  calls++;
}

static void informed(int number, siginfo_t* info, void* context) {
  check_stack();
  if (info->si_signo == number && context != NULL) calls++;
}

static void leave(int number) {
  check_stack();
  siglongjmp(before_fault, number);
}

int main(void) {
  if (signal(SIGUSR1, plain) != SIG_DFL) return 1;
  raise(SIGUSR1);
  if (calls != 1 || signal_number != SIGUSR1) return 2;

  struct sigaction action = {.sa_sigaction = informed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  struct sigaction before;
  if (sigaction(SIGUSR1, &action, &before) != 0 || before.sa_handler != plain) return 3;
  stack_t small = {.ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ};
  if (sigaltstack(&small, NULL) != 0) return 4;
  raise(SIGUSR1);
  if (calls != 2) return 5;
  if (sigaction(SIGUSR1, NULL, &before) != 0 || before.sa_sigaction != informed) return 6;
  if (sigaction(SIGKILL, &action, NULL) == 0 || sigaction(1000, &action, NULL) == 0) return 7;
  if (signal(SIGUSR1, SIG_IGN) != (void (*)(int))informed) return 8;
  raise(SIGUSR1);
  if (calls != 2 || signal(SIGUSR1, SIG_DFL) != SIG_IGN) return 9;

  signal(SIGUSR2, plain);
  siginterrupt(SIGUSR2, 1);
  signal(SIGUSR2, plain);
  if (sigaction(SIGUSR2, NULL, &before) != 0 || (before.sa_flags & SA_RESTART) != 0) return 10;
  if (sigset(SIGUSR2, plain) != plain || __sysv_signal(SIGUSR2, plain) != plain) return 11;
  raise(SIGUSR2);  // the last one sets the default action when it is called
  if (calls != 3 || signal(SIGUSR2, plain) != SIG_DFL) return 12;
  if (__sigaction(SIGUSR2, NULL, &before) != 0 || sigaction(SIGUSR2, &before, NULL) != 0) return 13;
  raise(SIGUSR2);
  if (calls != 4) return 14;

  signal(SIGSEGV, leave);
  char* const bytes = valloc(1 << 20);
  if (sigsetjmp(before_fault, 1) == 0) {
    *(volatile char*)NULL = 1;
    return 15;
  }
  for (int round = 0; round < 20; ++round) memset(bytes, round, 1 << 20);
  return misaligned == 0 ? 0 : 16;
}
