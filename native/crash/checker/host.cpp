// Host of a checker that is a shared library; the preloaded server loads it before this main.
#include <cstdio>

int main() {
  fputs("this program is started by nearfar crash\n", stderr);
  return 3;
}
