/* setjmp and longjmp out of loops; computed goto; a signal handler that jumps. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf back;
static sigjmp_buf from_signal;
static int* volatile values;

static void deep(int depth, long* data) {
  for (int i = 0; i < 1000; i++) data[i] += i;
  if (depth == 0) longjmp(back, 42);
  deep(depth - 1, data);
}

static void on_fault(int number) { siglongjmp(from_signal, number); }

static long interpret(const unsigned char* code, long* memory) {
  static void* const labels[] = {&&add, &&next, &&stop};
  long at = 0;
  goto* labels[*code];
add:
  memory[at] += at;
  goto* labels[*++code];
next:
  at++;
  goto* labels[*++code];
stop:
  return memory[at];
}

int main(void) {
  long* data = calloc(1000, sizeof *data);
  volatile int rounds = 0;
  const int code = setjmp(back);
  if (rounds++ < 5) deep(rounds, data);
  long sum = 0;
  for (int i = 0; i < 1000; i++) sum += data[i];
  printf("%d %d %ld\n", code, rounds, sum);

  signal(SIGSEGV, on_fault);
  int caught = sigsetjmp(from_signal, 1);
  if (caught == 0) *values = 1;
  printf("caught %d\n", caught == SIGSEGV);

  long memory[64] = {0};
  unsigned char program[100];
  for (int i = 0; i < 99; i++) program[i] = (unsigned char)(i % 2);
  program[99] = 2;
  printf("%ld\n", interpret(program, memory));
  free(data);
  return 0;
}
