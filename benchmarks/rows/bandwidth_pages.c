/* Preloaded into likwid-bench: its arrays lie in the memory file that our kernels use too.
   NEARFAR_PAGES: descriptor of the file. NEARFAR_PLACES: its size, and the offset of each array.
   It says on stderr when all arrays are placed, and the time in ns of each thread's loop.
   likwid-bench calibrates its own clock over two sleeps of half a second, which are cut short. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* at);

static char *pages, *end;

int posix_memalign(void** at, size_t alignment, size_t size) {
  static char* places;
  if (size < 1 << 20) {
    *at = __libc_memalign(alignment, size);
    return *at == NULL ? 12 : 0;
  }
  if (pages == NULL) {
    places = getenv("NEARFAR_PLACES");
    size_t all = strtoull(places, &places, 10);
    void* mapped = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        atoi(getenv("NEARFAR_PAGES")), 0);
    if (mapped == MAP_FAILED) return 12;
    pages = mapped;
    end = pages + all;
  }
  if (*places++ != ',') return 22;
  *at = pages + strtoull(places, &places, 10);
  if ((char*)*at + size > end) return 12;
  if (*places == '\0') fputs("nearfar: placed all arrays\n", stderr);
  return 0;
}

void free(void* at) {
  if (pages == NULL || (char*)at < pages || (char*)at >= end) __libc_free(at);
}

int nanosleep(const struct timespec* asked, struct timespec* left) {
  const struct timespec most = {0, 2000000};
  const int is_longer = asked->tv_sec > 0 || asked->tv_nsec > most.tv_nsec;
  return (int)syscall(SYS_nanosleep, is_longer ? &most : asked, left);
}

static __thread struct timespec begin;

void timer_start(void* timer) {
  ((void (*)(void*))dlsym(RTLD_NEXT, "timer_start"))(timer);
  clock_gettime(CLOCK_MONOTONIC, &begin);
}

void timer_stop(void* timer) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  ((void (*)(void*))dlsym(RTLD_NEXT, "timer_stop"))(timer);
  if (gettid() == getpid()) return;  // the main thread's timer spans all threads
  const int64_t s = now.tv_sec - begin.tv_sec;
  fprintf(stderr, "nearfar: a thread took %lld ns\n",
          (long long)(s * 1000000000 + now.tv_nsec - begin.tv_nsec));
}
