#include "run/far_heap.hpp"

#include <errno.h>
#include <stdio.h>

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

// Arena 0 has what jemalloc needs for itself. Arenas 1 to this number have the blocks.
unsigned block_arenas;
unsigned next_arena;
extent_hooks_t* block_hooks;
bool arenas_made;
std::uint32_t arenas_lock;

bool join(unsigned arena) {
  return jf_mallctl("thread.arena", nullptr, nullptr, &arena, sizeof arena) == 0;
}

void make_arenas() {
  Lock const lock(arenas_lock);
  if (arenas_made) return;
  for (unsigned arena = 1; arena <= block_arenas; ++arena) {
    char name[32];
    snprintf(name, sizeof name, "arena.%u.extent_hooks", arena);
    // Joining makes the arena; its tables keep the hooks that it is made with, so they are near.
    // NOLINTNEXTLINE(bugprone-sizeof-expression) - jemalloc takes a pointer to the hooks.
    if (!join(arena) || jf_mallctl(name, nullptr, nullptr, &block_hooks, sizeof block_hooks) != 0) {
      block_arenas = arena - 1;  // without memory for more
    }
  }
  __atomic_store_n(&arenas_made, true, __ATOMIC_RELEASE);
}

}  // namespace

bool start_far_heap(extent_hooks_t* hooks, unsigned arenas) {
  // Large blocks must not get an arena of their own, which would have other hooks.
  static char settings[96];
  snprintf(settings, sizeof settings,
           "dss:disabled,percpu_arena:disabled,oversize_threshold:0,narenas:%u", arenas + 1);
  jf_malloc_conf_2_conf_harder = settings;
  block_hooks = hooks;
  block_arenas = arenas;
  return join(0);
}

void join_far_heap() {
  const int error = errno;
  if (!__atomic_load_n(&arenas_made, __ATOMIC_ACQUIRE)) make_arenas();
  this_thread.joined_far_heap = true;
  if (block_arenas != 0) {
    join(__atomic_fetch_add(&next_arena, 1u, __ATOMIC_RELAXED) % block_arenas + 1);
  }
  errno = error;
}

void far_heap_in_child() { arenas_lock = 0; }

}  // namespace nearfar::run
