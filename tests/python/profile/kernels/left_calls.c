/* A handler leaves malloc by a jump, each time one instruction of the run time later: left_calls
 * BYTES. What follows must be counted. Prints the number of jumps. */
#define _GNU_SOURCE
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "by_hand.h"

#define NOINLINE __attribute__((noinline))
enum { TURNS = 400, ROOM = 1 << 16 };

static uintptr_t code_begin, code_end;
static int find_run_time(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  if (!strstr(info->dlpi_name, "/libnearfar_profile.so")) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X)) continue;
    code_begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    code_end = code_begin + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

static sigjmp_buf back;
static volatile long until_jump;
static void on_step(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  const uintptr_t at = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  if (at >= code_begin && at < code_end && --until_jump == 0) siglongjmp(back, 1);
}
/* The processor's trap flag: a SIGTRAP after each instruction. */
NOINLINE static void begin_steps(void) { __asm__ volatile("pushf; orq $256, (%rsp); popf"); }
NOINLINE static void end_steps(void) { __asm__ volatile("pushf; andq $~256, (%rsp); popf"); }

static char array[ROOM];
static void* volatile block; /* volatile, so that no allocation is left out */
/* Blocks of this size are counted one by one. */
NOINLINE static void after(void) {
  block = malloc(10000);
  free(block);
  for (int i = 0; i < ROOM; i += 64) LOAD(array[i], STREAM);
}
NOINLINE static void after_deeper(void) {
  volatile char frame[ROOM];
  frame[0] = 0;
  block = malloc(10000);
  free(block);
}

int main(int argc, char** argv) {
  const size_t bytes = argc > 1 ? strtoul(argv[1], 0, 10) : 64;
  volatile int turn = 0, jumps = 0;
  dl_iterate_phdr(find_run_time, 0);
  struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, 0);
  for (; turn < TURNS; ++turn) {
    until_jump = turn;
    if (sigsetjmp(back, 1) == 0) {
      /* The first call is not recent. */
      if (turn > 0) begin_steps();
      block = malloc(bytes);
      end_steps();
      free(block);
    } else {
      ++jumps;
    }
    after();
    after_deeper();
  }
  printf("%d %d\n", TURNS, jumps);
  return 0;
}
