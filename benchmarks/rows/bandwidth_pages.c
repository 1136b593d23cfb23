/* Preloaded into likwid-bench: its arrays lie in the memory file that our kernels use too.
   NEARFAR_PAGES: descriptor of the file. NEARFAR_PLACES: its size, and the offset of each array.
   It says on stderr when all arrays are placed.
   NEARFAR_SLEEP_US, if set: how long likwid-bench sleeps at most; it calibrates its clock over two
   sleeps of half a second. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *at);

static char *pages, *end;

int posix_memalign(void **at, size_t alignment, size_t size) {
  static char *places;
  if (size < 1 << 20) {
    *at = __libc_memalign(alignment, size);
    return *at == NULL ? 12 : 0;
  }
  if (pages == NULL) {
    places = getenv("NEARFAR_PLACES");
    size_t all = strtoull(places, &places, 10);
    void *mapped = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        atoi(getenv("NEARFAR_PAGES")), 0);
    if (mapped == MAP_FAILED) return 12;
    pages = mapped;
    end = pages + all;
  }
  if (*places++ != ',') return 22;
  *at = pages + strtoull(places, &places, 10);
  if ((char *)*at + size > end) return 12;
  if (*places == '\0') fputs("nearfar: placed all arrays\n", stderr);
  return 0;
}

void free(void *at) {
  if (pages == NULL || (char *)at < pages || (char *)at >= end) __libc_free(at);
}

int nanosleep(const struct timespec *asked, struct timespec *left) {
  struct timespec time = *asked;
  const char *text = getenv("NEARFAR_SLEEP_US");
  if (text != NULL) {
    const long most_ns = atol(text) * 1000;
    if (time.tv_sec > 0 || time.tv_nsec > most_ns) time = (struct timespec){0, most_ns};
  }
  return (int)syscall(SYS_nanosleep, &time, left);
}
