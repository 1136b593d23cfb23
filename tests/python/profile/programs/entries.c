/* Functions that are difficult to copy or to enter: arguments on the stack, variable arguments,
 * labels as values, jumps out, symbols in assembly, weak symbols, aliases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct big {
  long a[20];
};
__attribute__((noinline)) struct big make(long x, struct big b) {
  b.a[3] = x;
  return b;
}
struct triple {
  long v[3];
};
__attribute__((noinline)) long take(struct triple t, const long* table) {
  return table[t.v[0] & 3] + t.v[1] + t.v[2];
}
__attribute__((noinline)) long take_big(long x, struct big b, const long* table) {
  return table[x & 3] + b.a[0] + b.a[19];
}
__attribute__((noinline)) _Complex long double rotate(_Complex long double z, const double* by) {
  return z * *by;
}
long (*volatile take_pointer)(struct triple, const long*) = take;
long (*volatile take_big_pointer)(long, struct big, const long*) = take_big;
_Complex long double (*volatile rotate_pointer)(_Complex long double, const double*) = rotate;
__attribute__((noinline)) long sum(int n, ...) {
  va_list v;
  va_start(v, n);
  long s = 0;
  for (int i = 0; i < n; i++) s += *va_arg(v, long*);
  va_end(v);
  return s;
}
__attribute__((noinline)) double many(double a, double b, double c, double d, double e, double f,
                                      double g, double h, double i, double* j, long k, long l,
                                      long m, long n, long o, long p, long* q) {
  return a + b + c + d + e + f + g + h + i + *j + k + l + m + n + o + p + *q;
}
static __attribute__((noinline)) long run(const char* code, long* stack) {
  static const void* const table[] = {&&inc, &&dbl, &&end};
  goto* table[code[0] - '0'];
inc:
  stack[0]++;
  code++;
  goto* table[code[0] - '0'];
dbl:
  stack[0] *= 2;
  code++;
  goto* table[code[0] - '0'];
end:
  return stack[0];
}
static __attribute__((noinline)) long run2(const char* code, long* stack) {
  static const int table[] = {(char*)&&inc - (char*)&&inc, (char*)&&dbl - (char*)&&inc,
                              (char*)&&end - (char*)&&inc};
  goto*(&&inc + table[code[0] - '0']);
inc:
  stack[0]++;
  code++;
  goto*(&&inc + table[code[0] - '0']);
dbl:
  stack[0] *= 2;
  code++;
  goto*(&&inc + table[code[0] - '0']);
end:
  return stack[0];
}
jmp_buf env;
__attribute__((noinline)) void jump(long* p) {
  if (*p == 3) longjmp(env, 1);
}
__attribute__((noinline)) int labelled(int* p) {
  __asm__ volatile("my_label: nop");
  return *p;
}
__attribute__((weak)) int weak_one(int* p) { return *p + 1; }
int alias_of(int* p) __attribute__((alias("weak_one")));
static __attribute__((noinline)) int only_local(int* p) { return *p * 3; }
int (*pointer)(int*) = only_local;
int main(void) {
  long x = 5, y = 6;
  long* heap = malloc(64);
  heap[0] = 3;
  struct big* b = calloc(1, sizeof *b);
  printf("%ld\n", make(7, *b).a[3]);
  printf("%ld\n", sum(2, &x, &y));
  const struct triple t = {{1, 20, 300}};
  b->a[0] = 1, b->a[19] = 2;
  long* table = calloc(4, sizeof *table);
  printf("%ld %ld\n", take_pointer(t, table), take_big_pointer(2, *b, table));
  const double by = 2;
  printf("%Lg\n", __real__ rotate_pointer(3, &by));
  double d = 1.5;
  printf("%g\n", many(1, 2, 3, 4, 5, 6, 7, 8, 9, &d, 1, 2, 3, 4, 5, 6, heap));
  long s[1] = {1};
  printf("%ld\n", run("00112", heap));
  printf("%ld\n", run2("00112", heap));
  *s = 0;
  heap[0] = 3;
  if (setjmp(env) == 0)
    jump(heap);
  else
    puts("jumped");
  int* i = malloc(4);
  *i = 4;
  printf("%d %d %d %d\n", labelled(i), weak_one(i), alias_of(i), pointer(i) + only_local(i));
  return 0;
}
