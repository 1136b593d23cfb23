/* Loads the plugin named by its argument, as a server loads its modules. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (plugin == NULL) {
    puts(dlerror());
    return 1;
  }
  long (*sum)(char*, size_t);
  *(void**)&sum = dlsym(plugin, "plugin_sum");
  const size_t size = (size_t)8 << 20;
  char* bytes = calloc(1, size);
  printf("%ld\n", sum(bytes, size));
  free(bytes);
  return 0;
}
