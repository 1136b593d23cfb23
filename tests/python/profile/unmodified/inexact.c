/* Appends to its file whether "inexact" is set in the main thread and in one that it starts. */
#include <pthread.h>
#include <stdio.h>
#include <xmmintrin.h>

static void* test(void* file) {
  fputc((_mm_getcsr() & _MM_EXCEPT_INEXACT) != 0 ? 'i' : '-', file);
  return NULL;
}

int main(int count, char** words) {
  FILE* const file = count == 2 ? fopen(words[1], "a") : NULL;
  if (file == NULL) return 1;
  test(file);
  pthread_t thread;
  if (pthread_create(&thread, NULL, test, file) != 0 || pthread_join(thread, NULL) != 0) return 1;
  return fclose(file) != 0;
}
