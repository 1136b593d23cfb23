/* A handler interrupts malloc, each time one instruction of the run time later:
 *   left_calls BYTES                     it leaves malloc by a jump
 *   left_calls BYTES above|below leave   malloc is called by a handler on an alternate stack that
 *                                        lies above or below the thread's
 *   left_calls BYTES above|below stay    the handler is on that stack and jumps within itself
 * What follows must be counted. Prints the number of turns and of jumps. */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "by_hand.h"

#define NOINLINE __attribute__((noinline))
enum { TURNS = 400, ROOM = 1 << 16, STACK = 1 << 20 };

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

static void* volatile block; /* volatile, so that no allocation is left out */
/* Blocks of this size are counted one by one. */
NOINLINE static void in_handler(void) {
  block = malloc(10000);
  free(block);
}

static sigjmp_buf back, within;
static volatile long until_jump;
static int stays;
static volatile int jumps;
static void on_step(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  const uintptr_t at = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  if (at < code_begin || at >= code_end || --until_jump != 0) return;
  ++jumps;
  if (!stays) siglongjmp(back, 1);
  if (sigsetjmp(within, 1) == 0) siglongjmp(within, 1);
  in_handler();
}
/* The processor's trap flag: a SIGTRAP after each instruction. */
NOINLINE static void begin_steps(void) { __asm__ volatile("pushf; orq $256, (%rsp); popf"); }
NOINLINE static void end_steps(void) { __asm__ volatile("pushf; andq $~256, (%rsp); popf"); }

static size_t bytes;
static volatile int turn;
static void allocate(int signal) {
  (void)signal;
  /* The first call is not recent. */
  if (turn > 0) begin_steps();
  block = malloc(bytes);
  end_steps();
  free(block);
}

static char array[ROOM];
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

static void* turns(void* alternate) {
  if (alternate) {
    const stack_t stack = {.ss_sp = alternate, .ss_size = STACK};
    sigaltstack(&stack, 0);
  }
  for (turn = 0; turn < TURNS; ++turn) {
    until_jump = turn;
    if (sigsetjmp(back, 1) == 0) {
      if (alternate && !stays)
        raise(SIGUSR1);
      else
        allocate(0);
    }
    after();
    after_deeper();
  }
  return 0;
}

int main(int argc, char** argv) {
  bytes = argc > 1 ? strtoul(argv[1], 0, 10) : 64;
  dl_iterate_phdr(find_run_time, 0);
  const struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  const struct sigaction call = {.sa_handler = allocate, .sa_flags = SA_ONSTACK};
  sigaction(SIGTRAP, &step, 0);
  sigaction(SIGUSR1, &call, 0);
  if (argc > 3) {
    const int above = strcmp(argv[2], "above") == 0;
    stays = strcmp(argv[3], "stay") == 0;
    char* const stacks =
        mmap(0, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks + (above ? 0 : STACK), STACK);
    pthread_create(&thread, &attributes, turns, stacks + (above ? STACK : 0));
    pthread_join(thread, 0);
  } else {
    turns(0);
  }
  printf("%d %d\n", TURNS, jumps);
  return 0;
}
