/* A program as people write them, for the whole path: compiled by `nearfar cc`.
 * program MODE */
#include <nearfar/mark.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
  struct node* next;
  long value[7];
};

__attribute__((noinline)) static struct node* build_list(long count) {
  struct node* first = 0;
  for (long i = 0; i < count; ++i) {
    struct node* made = malloc(sizeof *made);
    if (!made) abort();
    made->next = first;
    made->value[0] = i;
    first = made;
  }
  return first;
}
__attribute__((noinline)) static long walk(const struct node* node) {
  long sum = 0;
  for (; node; node = node->next) sum += node->value[0];
  return sum;
}
__attribute__((noinline)) static double* build_table(long count) {
  double* table = malloc((size_t)count * sizeof *table);
  for (long i = 0; i < count; ++i) table[i] = (double)i;
  return table;
}

static volatile sig_atomic_t over;
static void on_term(int signal) {
  (void)signal;
  over = 1;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (!strcmp(mode, "nothing")) return 0;
  if (!strcmp(mode, "dies")) return 7;
  NEARFAR_BEGIN("load");
  struct node* list = build_list(200000);
  double* table = build_table(1 << 20);
  NEARFAR_END("load", 200000);
  if (!strcmp(mode, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(mode, "serve") || !strcmp(mode, "polite")) {
    if (!strcmp(mode, "polite")) signal(SIGTERM, on_term);
    while (!over) table[0] += (double)walk(list);
    puts("goodbye");
    return 0;
  }
  NEARFAR_BEGIN("walk");
  long sum = 0;
  for (int i = 0; i < 3; ++i) {
    sum += walk(list);
    list->value[1] = sum;
  }
  NEARFAR_END("walk", 600000);
  printf("%ld %.0f\n", sum, table[77]);
  return !strcmp(mode, "fails") ? 9 : 0;
}
