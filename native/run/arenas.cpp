#include "run/arenas.hpp"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/far_heap.hpp"
#include "run/jemalloc.hpp"
#include "run/lock.hpp"
#include "run/placement.hpp"
#include "run/ranges.hpp"
#include "run/state.hpp"

// sbrk is disabled, because its addresses would not show their target.
extern "C" {
const char* je_malloc_conf = "dss:disabled";
}

namespace nearfar::run {

namespace {

// Arenas per target, shared by threads. More than four seldom help, because most blocks come from a
// thread's cache.
constexpr unsigned max_lanes = 4;

struct Lane {
  extent_hooks_t hooks;  // first, because jemalloc passes its address to the hooks
  unsigned target;
  unsigned arena_plus_one;
};
Lane lanes[NF_RUN_TARGETS][max_lanes];
std::uint32_t lanes_lock;
unsigned lane_count;
unsigned next_lane;
// Set in the child of a fork. Other threads of the parent may have written to free memory of a file
// while it was copied, and the heaps assume that such memory is zero.
bool is_child = false;

// Same value as in jemalloc 5.3. With these hooks, jemalloc's own tables stay in near memory while
// blocks are far.
struct ArenaConfig {
  extent_hooks_t* hooks;
  bool metadata_use_hooks;
};

constexpr unsigned no_cache = 0xFFFFFFFFu;

// Starts at zero, so caches are numbered from one here.
struct ThreadCaches {
  unsigned lane_plus_one;
  bool ended;
  unsigned cache_plus_one[NF_RUN_TARGETS];
};
__thread ThreadCaches caches __attribute__((tls_model("initial-exec")));
pthread_key_t at_thread_end;
bool has_key;

unsigned target_of_hooks(extent_hooks_t* hooks) { return reinterpret_cast<Lane*>(hooks)->target; }

void* extent_alloc(extent_hooks_t* hooks, void* wanted, size_t bytes, size_t alignment, bool* zero,
                   bool* commit, unsigned) {
  if (wanted != nullptr) return nullptr;  // jemalloc then accepts any address
  *zero = true;
  *commit = true;
  return place_extent(target_of_hooks(hooks), bytes, alignment);
}

// Returns true, "not freed", so that the addresses are kept for the next extent.
bool extent_dalloc(extent_hooks_t*, void*, size_t, bool, unsigned) { return true; }
void extent_destroy(extent_hooks_t*, void* begin, size_t bytes, bool, unsigned) {
  release_extent(begin, bytes);
}
bool extent_commit(extent_hooks_t*, void*, size_t, size_t, size_t, unsigned) { return false; }
bool extent_decommit(extent_hooks_t*, void*, size_t, size_t, size_t, unsigned) { return true; }
bool extent_purge(extent_hooks_t* hooks, void* begin, size_t, size_t offset, size_t bytes,
                  unsigned) {
  if (!is_purgeable(target_of_hooks(hooks))) return true;
  char* const first = static_cast<char*>(begin) + offset;
  if (madvise(first, bytes, MADV_DONTNEED) == 0) return false;
  constexpr int dontneed_locked = 24;  // MADV_DONTNEED_LOCKED, Linux 5.18
  return errno != EINVAL || madvise(first, bytes, dontneed_locked) != 0;
}
bool extent_split(extent_hooks_t*, void*, size_t, size_t, size_t, bool, unsigned) { return false; }
bool extent_merge(extent_hooks_t*, void*, size_t, void*, size_t, bool, unsigned) { return false; }

void destroy_caches(void*) {
  caches.ended = true;
  for (unsigned& cache : caches.cache_plus_one) {
    if (cache == 0 || cache == no_cache) continue;
    unsigned index = cache - 1;
    cache = no_cache;
    je_mallctl("tcache.destroy", nullptr, nullptr, &index, sizeof index);
  }
}

void set_hooks(Lane& lane, unsigned target) {
  lane.target = target;
  lane.hooks = {extent_alloc, extent_dalloc, extent_destroy, extent_commit, extent_decommit,
                nullptr,      extent_purge,  extent_split,   extent_merge};
}

unsigned make_arena(Lane& lane, unsigned target) {
  set_hooks(lane, target);
  ArenaConfig config{&lane.hooks, false};
  unsigned arena = 0;
  size_t size = sizeof arena;
  if (je_mallctl("experimental.arenas_create_ext", &arena, &size, &config, sizeof config) != 0) {
    return 0;
  }
  return arena + 1;
}

unsigned arena_of(unsigned target) {
  if (caches.lane_plus_one == 0) {
    Lock const lock(lanes_lock);
    if (lane_count == 0) {
      lane_count = lanes_wanted();
      has_key = pthread_key_create(&at_thread_end, destroy_caches) == 0;
    }
    caches.lane_plus_one = next_lane++ % lane_count + 1;
  }
  Lane& lane = lanes[target][caches.lane_plus_one - 1];
  unsigned arena = __atomic_load_n(&lane.arena_plus_one, __ATOMIC_ACQUIRE);
  if (arena != 0) return arena;
  Lock const lock(lanes_lock);
  if (lane.arena_plus_one == 0) {
    __atomic_store_n(&lane.arena_plus_one, make_arena(lane, target), __ATOMIC_RELEASE);
  }
  return lane.arena_plus_one;
}

unsigned make_cache(unsigned target) {
  unsigned& cache = caches.cache_plus_one[target];
  cache = no_cache;  // cache number; 0 until it is created, or always if that fails
  if (caches.ended || !has_key) return no_cache;
  unsigned index = 0;
  size_t size = sizeof index;
  if (je_mallctl("tcache.create", &index, &size, nullptr, 0) == 0) {
    pthread_setspecific(at_thread_end, &caches);
    cache = index + 1;
  }
  return cache;
}

int cache_flags(unsigned target) {
  unsigned cache = caches.cache_plus_one[target];
  if (cache == 0) cache = make_cache(target);
  return cache == no_cache ? MALLOCX_TCACHE_NONE : MALLOCX_TCACHE(cache - 1);
}

int flags_of(unsigned target) {
  const unsigned arena = arena_of(target);
  return arena == 0 ? -1 : (MALLOCX_ARENA(arena - 1) | cache_flags(target));
}

// Large blocks that are divided among memories in address order have extents of their own, because
// the borders of jemalloc's extents differ from those of blocks. This header is in the page before
// the block.
struct DividedHeader {
  std::size_t whole;       // bytes from the kernel, including this page
  std::size_t requested;   // bytes of the block
  std::uint64_t position;  // position of a block in ranges
};
constexpr std::size_t min_divided_bytes = 256u << 10;

DividedHeader& header_of(void* block) {
  return *reinterpret_cast<DividedHeader*>(static_cast<char*>(block) - page_bytes);
}

bool is_to_divide(unsigned target, std::size_t size) {
  const std::uint32_t style = table->targets[target].style;
  return (style == NF_RUN_IN_PARTS && size >= min_divided_bytes) ||
         (style == NF_RUN_IN_RANGES && has_position(size));
}

void* divided_malloc(unsigned target, std::size_t size) {
  const std::size_t whole = (size + page_bytes - 1) / page_bytes * page_bytes + page_bytes;
  if (whole < size) return nullptr;
  const std::uint64_t position = take_position(target, size);
  // The page before a block at position 0 is counted in the block's first range.
  const std::uint64_t before = position == 0 || position == no_position ? 0 : page_bytes;
  auto* begin = static_cast<char*>(place_divided(target, whole, position - before));
  if (begin == nullptr) {
    give_position(target, position, size);
    return nullptr;
  }
  *reinterpret_cast<DividedHeader*>(begin) = {whole, size, position};
  return begin + page_bytes;
}

// Also called before a realloc, so that the new block may get the positions of the old one.
void forget_position(unsigned target, void* block) {
  DividedHeader& header = header_of(block);
  give_position(target, header.position, header.requested);
  header.position = no_position;
}

std::size_t divided_size(void* block) { return header_of(block).whole - page_bytes; }

}  // namespace

std::size_t usable_size(void* block) {
  if (is_divided(block)) return divided_size(block);
  return in_far_heap(block) ? jf_malloc_usable_size(block) : je_malloc_usable_size(block);
}

unsigned lanes_wanted() {
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  return cpus < 1 ? 1 : cpus > max_lanes ? max_lanes : static_cast<unsigned>(cpus);
}

void give_heap(unsigned target) {
  Lane& lane = lanes[target][0];
  set_hooks(lane, target);
  make_far_heap(target, &lane.hooks);
}

void* far_malloc(unsigned target, std::size_t size, int flags) {
  const int alignment = flags & 63;  // as its logarithm
  if (is_to_divide(target, size) && alignment <= 12) {
    // The memory is new from the kernel, so it is zero.
    if (void* divided = divided_malloc(target, size); divided != nullptr) return divided;
  }
  const bool own_heap = target == far_heap_target;
  const int where = own_heap ? 0 : flags_of(target);
  if (where == -1) return je_mallocx(size == 0 ? 1 : size, flags);
  void* block = own_heap ? far_heap_mallocx(size == 0 ? 1 : size, flags)
                         : je_mallocx(size == 0 ? 1 : size, where | flags);
  if (block != nullptr) {
    if (is_child && (flags & MALLOCX_ZERO) != 0 && !is_purgeable(target)) memset(block, 0, size);
    return block;
  }
  // The target has no addresses or memory left: near memory is better than none.
  block = je_mallocx(size == 0 ? 1 : size, flags);
  if (block != nullptr) add(state.fallback_bytes[target], static_cast<std::uint64_t>(size));
  return block;
}

void* far_realloc(unsigned target, void* block, std::size_t size) {
  if (is_divided(block) || is_to_divide(target, size)) {
    if (is_divided(block)) forget_position(target, block);
    void* moved = far_malloc(target, size, 0);
    if (moved == nullptr) return nullptr;
    const std::size_t old = usable_size(block);
    memcpy(moved, block, old < size ? old : size);
    far_free(target, block);
    return moved;
  }
  if (target == far_heap_target) return jf_rallocx(block, size == 0 ? 1 : size, 0);
  const int where = flags_of(target);
  return where == -1 ? nullptr : je_rallocx(block, size == 0 ? 1 : size, where);
}

void far_free(unsigned target, void* block) {
  if (is_divided(block)) {
    forget_position(target, block);
    release_extent(static_cast<char*>(block) - page_bytes, divided_size(block) + page_bytes);
  } else if (target == far_heap_target) {
    jf_free(block);
  } else {
    je_dallocx(block, cache_flags(target));
  }
}

void arenas_in_child() {
  lanes_lock = 0;
  is_child = true;
}

}  // namespace nearfar::run
