#include "run/far_heap.hpp"

#include <errno.h>
#include <stdio.h>

#include "run/arenas.hpp"
#include "run/lock.hpp"

#pragma GCC visibility push(hidden)
extern "C" {
int jf_mallctl(const char* name, void* old, std::size_t* old_size, void* value, std::size_t size);
extern const char* jf_malloc_conf_2_conf_harder;
}
#pragma GCC visibility pop

namespace nearfar::run {

std::uint64_t far_heap_target;
std::uint64_t far_heap_page = UINT64_MAX / 2;

namespace {

// Arena 0 contains jemalloc's own data. Arenas 1 to this number contain the blocks.
unsigned block_arenas;
unsigned next_arena;
extent_hooks_t* block_hooks;
bool started;
std::uint32_t start_lock;
__thread bool starts __attribute__((tls_model("initial-exec")));

// The heap's own fork handlers, once it has started.
using Handler = void (*)();
Handler before, in_parent, in_child;
__thread bool forks __attribute__((tls_model("initial-exec")));  // holds the lock during its fork

bool join(unsigned arena) {
  return jf_mallctl("thread.arena", nullptr, nullptr, &arena, sizeof arena) == 0;
}

void make_arenas() {
  block_arenas = lanes_wanted();
  // Large blocks must not get an arena of their own, because it would have other hooks.
  static char settings[96];
  snprintf(settings, sizeof settings,
           "dss:disabled,percpu_arena:disabled,oversize_threshold:0,narenas:%u", block_arenas + 1);
  jf_malloc_conf_2_conf_harder = settings;
  for (unsigned arena = 1; arena <= block_arenas; ++arena) {
    char name[32];
    snprintf(name, sizeof name, "arena.%u.extent_hooks", arena);
    // Joining creates the arena. Its tables keep the hooks with which it is created: they are near.
    // NOLINTNEXTLINE(bugprone-sizeof-expression) - jemalloc takes a pointer to the hooks.
    if (!join(arena) || jf_mallctl(name, nullptr, nullptr, &block_hooks, sizeof block_hooks) != 0) {
      block_arenas = arena - 1;  // no memory for more arenas
    }
  }
}

void start() {
  Lock const lock(start_lock);
  if (started) return;
  starts = true;
  make_arenas();
  starts = false;
  __atomic_store_n(&started, true, __ATOMIC_RELEASE);
}

void run(Handler handler) {
  if (handler != nullptr) handler();
}

}  // namespace

void make_far_heap(unsigned target, extent_hooks_t* hooks) {
  block_hooks = hooks;
  far_heap_target = target;
  far_heap_page = (std::uint64_t{near_slots + target - 1} << slot_bits) / page_bytes;
}

void join_far_heap() {
  const int error = errno;
  if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) start();
  this_thread.joined_far_heap = true;
  if (block_arenas != 0) {
    join(__atomic_fetch_add(&next_arena, 1u, __ATOMIC_RELAXED) % block_arenas + 1);
  }
  errno = error;
}

void far_heap_before_fork() {
  // A signal handler may fork while its thread starts the heap.
  forks = !starts;
  if (!forks) return;
  acquire(start_lock);
  run(before);
}

void far_heap_in_parent() {
  if (!forks) return;
  run(in_parent);
  release(start_lock);
}

void far_heap_in_child() {
  if (!forks) return;
  run(in_child);
  release(start_lock);
}

}  // namespace nearfar::run

// The heap's pthread_atfork. Whenever the heap starts, its handlers run inside this library's.
#pragma GCC visibility push(hidden)
extern "C" int nf_far_atfork(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  nearfar::run::before = before;
  nearfar::run::in_parent = in_parent;
  nearfar::run::in_child = in_child;
  return 0;
}
#pragma GCC visibility pop
