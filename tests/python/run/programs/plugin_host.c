// A C program that opens a plugin, and calls it, without sharing the names of its libraries.
#include <dlfcn.h>
#include <stddef.h>

int main(int count, char **words) {
  void *plugin = count < 2 ? NULL : dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) return 100;
  int (*run)(void) = (int (*)(void))dlsym(plugin, "run_plugin");
  return run == NULL ? 101 : run();
}
