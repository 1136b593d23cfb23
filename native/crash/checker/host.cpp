// Host process of a checker that is a shared library. The preloaded server loads the library before
// this main runs.
#include <cstdio>

int main() {
  fputs("this program is started by nearfar crash\n", stderr);
  return 3;
}
