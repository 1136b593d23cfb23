// Start, fork and end of the library.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/arenas.hpp"
#include "run/far_heap.hpp"
#include "run/fork_copies.hpp"
#include "run/jemalloc.hpp"
#include "run/memories.hpp"
#include "run/ranges.hpp"
#include "run/shadow.hpp"
#include "run/shared_answers.hpp"
#include "run/stack_objects.hpp"
#include "run/state.hpp"
#include "run/verb_socket.hpp"

namespace nearfar::run {

bool active = false;
__thread ThreadState this_thread __attribute__((tls_model("initial-exec")));
nf_run_table* table = nullptr;
nf_run_state state;

void mappings_in_child();
void check_next_allocation();

namespace {

// Number of sampled pages that this process inherited from its parent.
std::uint64_t pages_before;
// Whether this process is the program that the verb started.
bool is_first;

nf_run_table* map_table(const char* folder) {
  char path[512];
  const int length = snprintf(path, sizeof path, "%s/table", folder);
  if (length <= 0 || static_cast<std::size_t>(length) >= sizeof path) return nullptr;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status {};
  void* mapped = nullptr;
  if (fstat(file, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof(nf_run_table))) {
    const long result = syscall(SYS_mmap, nullptr, sizeof(nf_run_table), PROT_READ | PROT_WRITE,
                                MAP_SHARED, file, 0L);
    if (result != -1) mapped = reinterpret_cast<void*>(result);
  }
  close(file);
  auto* candidate = static_cast<nf_run_table*>(mapped);
  if (candidate == nullptr ||
      memcmp(candidate->magic, NF_RUN_MAGIC, sizeof candidate->magic) != 0 ||
      candidate->version != NF_RUN_VERSION) {
    return nullptr;
  }
  return candidate;
}

// Fork handlers must not take locks that other code takes while it holds jemalloc's locks (extents,
// files): jemalloc's own fork handler runs after this one, and both would wait for each other. The
// lock of the stacks is not such a lock.
void before_fork() {
  recognise_before_fork();
  places_before_fork();
  far_heap_before_fork();
}

void in_parent() {
  far_heap_in_parent();
  recognise_in_parent();
  places_in_parent();
}

void in_child() {
  far_heap_in_child();
  arenas_in_child();
  mappings_in_child();
  ranges_in_child();
  recognise_in_child();
  places_in_child();
  if (!active) return;
  introduce_again_in_child();
  is_first = false;
  pages_before = state.sampled_pages;
  __atomic_fetch_add(&table->process_count, 1u, __ATOMIC_RELAXED);
  if (table->adapts != 0) introduce();
}

// Whether the verb must read this process before it ends: the program itself, the first process
// with an object of the plan, or a process that is larger than those before.
bool is_worth_a_snapshot() {
  constexpr std::uint64_t min_pages = 8;  // 256 KiB
  const std::uint64_t pages = state.sampled_pages;
  std::uint32_t fullest = __atomic_load_n(&table->fullest_pages, __ATOMIC_RELAXED);
  const bool larger = pages >= pages_before + min_pages && 10 * pages > 11ull * fullest;
  while (pages > fullest && pages <= UINT32_MAX &&
         !__atomic_compare_exchange_n(&table->fullest_pages, &fullest,
                                      static_cast<std::uint32_t>(pages), false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return is_first || found_an_object() || larger;
}

// For programs that allocate nothing before main.
__attribute__((constructor(101))) void wake_at_start() { wake(); }

__attribute__((destructor(101))) void end() {
  if (!active) return;
  if (is_worth_a_snapshot()) {
    introduce();
    tell(NF_RUN_BYE);
  }
  unregister_process();
}

}  // namespace

void wake() {
  static bool tried;
  if (environ == nullptr || __atomic_exchange_n(&tried, true, __ATOMIC_ACQ_REL)) return;
  // jemalloc registers its fork handlers first, so that they run inside this library's handlers.
  je_free(je_malloc(1));
  state.first_address = first_address;
  const char* folder = getauxval(AT_SECURE) != 0 ? nullptr : getenv(NF_RUN_VARIABLE);
  if (folder == nullptr || *folder == '\0' || !set_socket(folder)) return;
  nf_run_table* mapped = map_table(folder);
  if (mapped == nullptr) return;
  if (!map_shadow()) {
    tell(NF_RUN_CANNOT);
    return;
  }
  state.shadow = reinterpret_cast<std::uint64_t>(shadow);
  memcpy(state.magic, NF_RUN_MAGIC, sizeof state.magic);
  table = mapped;
  start_shared_answers();
  register_process();
  if (mapped->heap_target != 0) give_heap(mapped->heap_target);
  pthread_atfork(before_fork, in_parent, in_child);
  // The first process is the program; if it did not report, the verb would not notice that the
  // library runs.
  is_first = __atomic_fetch_add(&mapped->process_count, 1u, __ATOMIC_RELAXED) == 0;
  if (is_first || mapped->adapts != 0) introduce();
  active = true;
  check_next_allocation();
}

}  // namespace nearfar::run
