/* Objects of every kind that `nearfar run` places: a large array, a list of small nodes through a
 * wrapper, what grows by realloc, a mapping, aligned and cleared blocks; used by threads and by
 * the child of a fork. It checks what it wrote, and says what is wrong.
 *
 *   objects MEBIBYTES [fork|exec|threads|free]... */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nearfar/mark.h"

struct node {
  struct node* next;
  uint64_t value[7];
};

static size_t mebibytes = 8;

/* A wrapper: its callers are the objects. */
__attribute__((noinline)) void* xmalloc(size_t size) {
  void* block = malloc(size);
  if (!block) abort();
  return block;
}

__attribute__((noinline)) uint64_t* make_array(size_t bytes) {
  uint64_t* array = xmalloc(bytes);
  for (size_t i = 0; i < bytes / 8; ++i) array[i] = i;
  return array;
}

__attribute__((noinline)) struct node* make_list(size_t bytes) {
  struct node* head = 0;
  for (size_t i = 0; i < bytes / sizeof *head; ++i) {
    struct node* node = xmalloc(sizeof *node);
    node->next = head;
    for (int k = 0; k < 7; ++k) node->value[k] = i;
    head = node;
  }
  return head;
}

__attribute__((noinline)) uint64_t* make_growing(size_t bytes) {
  uint64_t* array = 0;
  size_t filled = 0;
  for (size_t size = 64; size <= bytes; size *= 2) {
    array = realloc(array, size);
    if (!array) abort();
    for (; filled < size / 8; ++filled) array[filled] = filled;
  }
  return array;
}

__attribute__((noinline)) char* make_mapping(size_t bytes) {
  char* mapping = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) abort();
  memset(mapping, 5, bytes);
  return mapping;
}

__attribute__((noinline)) char* make_cleared(size_t bytes) {
  char* cleared = calloc(bytes / 16, 16);
  if (!cleared) abort(); /* and so no tail call, which would leave no frame */
  return cleared;
}

static int wrong(const char* what) {
  fprintf(stderr, "wrong: %s\n", what);
  return 1;
}

static int check(const uint64_t* array, const struct node* list, const uint64_t* growing,
                 const char* mapping, size_t bytes) {
  for (size_t i = 0; i < bytes / 8; ++i) {
    if (array[i] != i) return wrong("array");
  }
  size_t count = bytes / sizeof *list;
  for (; list; list = list->next) {
    if (list->value[6] != --count) return wrong("list");
  }
  if (count != 0) return wrong("length of the list");
  for (size_t i = 0; i < bytes / 16; ++i) {
    if (growing[i] != i) return wrong("growing");
  }
  for (size_t i = 0; i < bytes; ++i) {
    if (mapping[i] != 5) return wrong("mapping");
  }
  return 0;
}

/* Blocks of one thread freed by another, of many sizes and alignments. */
static void* handed[64];
static void* in_thread(void* argument) {
  const size_t number = (size_t)argument;
  for (size_t round = 0; round < 2000; ++round) {
    const size_t size = 1 + (round * 131 + number * 977) % 5000;
    char* block = round % 3 == 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : xmalloc(size);
    memset(block, (int)number, size);
    if (malloc_usable_size(block) < size) return "usable size";
    block = realloc(block, size * 2);
    if (block[size - 1] != (char)number) return "realloc in a thread";
    char* cleared = calloc(1, size);
    for (size_t i = 0; i < size; ++i) {
      if (cleared[i]) return "calloc in a thread";
    }
    free(cleared);
    block = __atomic_exchange_n(&handed[(round + number) % 64], block, __ATOMIC_ACQ_REL);
    free(block);
  }
  return 0;
}

static int aligned(void) {
  for (size_t alignment = 8; alignment <= 1u << 22; alignment *= 2) {
    void* block = 0;
    if (posix_memalign(&block, alignment, 3 * alignment + 1) || (uintptr_t)block % alignment) {
      return wrong("posix_memalign");
    }
    memset(block, 1, 3 * alignment + 1);
    free(block);
    block = memalign(alignment, 100);
    if ((uintptr_t)block % alignment) return wrong("memalign");
    free(block);
  }
  void* page = valloc(10);
  if ((uintptr_t)page % 4096) return wrong("valloc");
  free(page);
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1) mebibytes = strtoul(argv[1], 0, 10);
  const size_t bytes = mebibytes << 20;
  uint64_t* array = make_array(bytes);
  struct node* list = make_list(bytes);
  uint64_t* growing = make_growing(bytes);
  char* mapping = make_mapping(bytes);
  char* cleared = make_cleared(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    if (cleared[i]) return wrong("calloc");
  }
  memset(cleared, 7, bytes);
  if (aligned()) return 1;
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], "threads") == 0) {
      pthread_t threads[4];
      for (size_t t = 0; t < 4; ++t) pthread_create(&threads[t], 0, in_thread, (void*)t);
      for (size_t t = 0; t < 4; ++t) {
        void* answer = 0;
        pthread_join(threads[t], &answer);
        if (answer) return wrong(answer);
      }
    } else if (strcmp(argv[i], "fork") == 0) {
      /* Each writes what the other must not see. */
      const pid_t child = fork();
      if (child == 0) {
        if (check(array, list, growing, mapping, bytes)) _exit(1);
        memset(array, 1, bytes);
        memset(mapping, 1, bytes);
        free(make_array(bytes));
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (status) return wrong("child");
    } else if (strcmp(argv[i], "exec") == 0) {
      const pid_t child = fork();
      if (child == 0) {
        execl(argv[0], argv[0], "1", (char*)0);
        _exit(127);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (status) return wrong("exec");
    } else if (strcmp(argv[i], "phases") == 0) {
      NEARFAR_BEGIN("work");
      usleep(600000);
      NEARFAR_END("work", 1);
    }
  }
  mapping = mremap(mapping, bytes, 2 * bytes, MREMAP_MAYMOVE);
  if (mapping == MAP_FAILED || mapping[bytes] != 0) return wrong("mremap");
  const int bad = check(array, list, growing, mapping, bytes);
  munmap(mapping, 2 * bytes);
  free(growing);
  free(array);
  free(cleared);
  while (list) {
    struct node* next = list->next;
    free(list);
    list = next;
  }
  puts(bad ? "bad" : "good");
  return bad;
}
