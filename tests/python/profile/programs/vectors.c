/* Loops that become vector code: gathers, scatters, masks, reversed and strided streams. */
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline))
enum { n = 5000 };

static KEEP void gather(float* out, const float* table, const int* index) {
  for (int i = 0; i < n; i++) out[i] = table[index[i]];
}
static KEEP void scatter(float* out, const float* in, const int* index) {
  for (int i = 0; i < n; i++) out[index[i]] = in[i];
}
static KEEP void masked(int* out, const int* in) {
  for (int i = 0; i < n; i++)
    if (in[i] % 3 == 0) out[i] = in[i] / 3;
}
static KEEP void reversed(int* out, const int* in) {
  for (int i = n - 1; i >= 0; i--) out[i] = in[n - 1 - i];
}
static KEEP long strided(const int* in, int step) {
  long sum = 0;
  for (int i = 0; i < n; i += step) sum += in[i];
  return sum;
}
static KEEP long until(const int* in, int stop) {
  long at = 0;
  while (in[at] != stop) at++;
  return at;
}

int main(void) {
  float* x = malloc(n * sizeof *x);
  float* y = malloc(n * sizeof *y);
  int* p = malloc(n * sizeof *p);
  int* q = calloc(n, sizeof *q);
  for (int i = 0; i < n; i++) {
    x[i] = (float)i;
    p[i] = (int)((long)i * 7919 % n);
  }
  double sum = 0;
  gather(y, x, p);
  for (int i = 0; i < n; i++) sum += (double)y[i] * i;
  scatter(y, x, p);
  for (int i = 0; i < n; i++) sum += (double)y[i] * i;
  masked(q, p);
  for (int i = 0; i < n; i++) sum += (double)q[i] * i;
  reversed(q, p);
  for (int i = 0; i < n; i++) sum += (double)q[i] * i;
  for (int step = 1; step < 70; step++) sum += (double)strided(p, step);
  sum += (double)until(p, p[n - 1]);
  printf("%.0f\n", sum);
  free(x);
  free(y);
  free(p);
  free(q);
  return 0;
}
