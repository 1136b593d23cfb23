// Blocks under a plan that keeps everything near. malloc, calloc and free are jemalloc's own
// functions: nothing is placed, and jemalloc's heap profiler chooses the blocks that the record
// counts. It gives each of them pages of its own, so that the short code of free does not serve it.
// The functions below replace those by which jemalloc calls its profiler and allocates the chosen
// blocks; CMakeLists.txt redirects the calls. They have the signatures and layouts of jemalloc 5.3.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "profile/runtime/stack_walk.hpp"
#include "run/arenas.hpp"
#include "run/blocks.hpp"
#include "run/foreign_blocks.hpp"
#include "run/lock.hpp"
#include "run/snapshot_requests.hpp"

using nearfar::profile::Call;

// Where this library's code begins and ends.
extern "C" const char __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const char etext[] __attribute__((visibility("hidden")));

namespace nearfar::run {

namespace {

// Size from which on each block is recorded, by its pages. Of smaller blocks, one per as many
// bytes, so that those of nearly this size are chosen less often than in proportion to their size.
constexpr std::size_t always_recorded = NF_RUN_CHOSEN_BYTES;

// Whether this thread records a block, or asks about one: blocks that are needed for that are not
// recorded.
__thread bool records __attribute__((tls_model("initial-exec")));

// Set when jemalloc has chosen a block of this thread, which it then allocates as one of pages of
// its own. It may stay set after a realloc in place: then a block that was not chosen, of the same
// size and alignment, gets a kept extent, which does no harm.
__thread bool samples __attribute__((tls_model("initial-exec")));

bool is_in_this_library(std::uint64_t address) {
  return address - reinterpret_cast<std::uint64_t>(__ehdr_start) <
         reinterpret_cast<std::uint64_t>(etext) - reinterpret_cast<std::uint64_t>(__ehdr_start);
}

// Replaces a call inside this library by the program's call of the library; returns false if it is
// not found. The sizes of the program's frames may vary.
bool find_program_call(Call& call) {
  constexpr unsigned max_depth = 6;
  for (unsigned depth = 0; is_in_this_library(call.return_address); ++depth) {
    if (depth == max_depth) return false;
    std::uint64_t frame = 0;
    if (!profile::go_to_caller(call)) {
      profile::walk_stack(call, &frame, 1);  // stores the distance to the caller
      if (!profile::go_to_caller(call)) return false;
    }
  }
  return true;
}

[[gnu::noinline]] void record(const void* block, std::size_t size, std::size_t usable, Call call) {
  if (records || !active || !in_near_heap(block)) return;
  const int error = errno;
  records = true;
  const Recognised recognised =
      find_program_call(call) ? recognise(call, size, false) : Recognised{NF_RUN_NO_OBJECT, 0};
  if (size < always_recorded) {
    record_lone_sample(block, usable, recognised.object);
  } else {
    record_block(block, size, recognised.object);
  }
  request_snapshot_after_growth();
  records = false;
  errno = error;
}

// Records each large block, also those of constructors that run before this library's.
void record_large(const void* block, std::size_t size, Call call) {
  if (!active && !records) wake();
  record(block, size, size, call);
}

bool is_recorded(const void* block) {
  return (shadow[page_of(block)] >> start_shift & ~chosen_bit) == start_of(block);
}

// jemalloc gives each sampled small block an extent of its own. Some time after the block's free it
// merges the extent with all free neighbours. Slabs are not made from the large extents that result
// (its option lg_extent_max_active_fit), so a heap would grow beside free memory whose pages are
// present. These extents are kept for later samples instead. A thread that finds the list in use
// does without it, so that no thread waits.
constexpr std::size_t lone_bytes = 4 * page_bytes;
// Samples of 512 MiB of small blocks. Further extents are given back.
constexpr std::uint32_t max_kept = 1024;
void* kept_extents[max_kept];
std::uint32_t kept_count;
std::uint32_t kept_lock;

bool keep_extent(void* begin) {
  if (!try_to_acquire(kept_lock)) return false;
  const std::uint32_t count = __atomic_load_n(&kept_count, __ATOMIC_RELAXED);
  if (count < max_kept) {
    kept_extents[count] = begin;
    // After the entry: a fork may be in between.
    __atomic_store_n(&kept_count, count + 1, __ATOMIC_RELEASE);
  }
  release(kept_lock);
  return count < max_kept;
}

void* kept_extent() {
  if (!try_to_acquire(kept_lock)) return nullptr;
  const std::uint32_t count = __atomic_load_n(&kept_count, __ATOMIC_RELAXED);
  void* extent = nullptr;
  if (count != 0) {
    extent = kept_extents[count - 1];
    __atomic_store_n(&kept_count, count - 1, __ATOMIC_RELEASE);
  }
  release(kept_lock);
  return extent;
}

void forget(void* block) {
  const int error = errno;
  const std::size_t size = je_malloc_usable_size(block);
  request_snapshot_before_free(size);
  forget_block(block, size);
  errno = error;
}

// Another thread may have been using the list when the process was forked.
void release_list_in_child() { release(kept_lock); }

[[gnu::constructor]] void watch_forks() { pthread_atfork(nullptr, nullptr, release_list_in_child); }

}  // namespace

void* allocate(std::size_t size, int flags, Call call) {
  void* block = je_mallocx(size == 0 ? 1 : size, flags);
  if (block == nullptr) {
    errno = ENOMEM;
  } else if (size >= always_recorded) {
    record_large(block, size, call);
  }
  return block;
}

void* resize(void* block, std::size_t size, Call call) {
  if (block == nullptr) return je_malloc(size);
  if (size == 0) {
    je_free(block);
    return nullptr;
  }
  if (!is_ours(block)) return foreign_realloc(block, size);
  if (size < always_recorded) return je_realloc(block, size);
  void* result = je_realloc(block, size);
  if (result != nullptr) record_large(result, size, call);
  return result;
}

void check_next_allocation() {}

}  // namespace nearfar::run

using namespace nearfar::run;

namespace {

// A prof_tctx_t*: jemalloc compares it with these values only.
constexpr std::uintptr_t not_sampled = 1;
constexpr std::uintptr_t sampled = 2;

// The beginning of jemalloc's edata_t, and its prof_info_t.
struct Extent {
  std::uint64_t bits;
  void* block;
};
struct Sample {
  std::uint64_t time;
  std::uintptr_t context;
  std::size_t bytes;
};

}  // namespace

#pragma GCC visibility push(hidden)
extern "C" {

// Read last, so that the environment cannot change it: one block per 2^19 bytes, no files, and no
// recorded block in a cache or outside this library's addresses.
const char* je_malloc_conf_2_conf_harder =
    "prof:true,prof_active:true,prof_thread_active_init:true,lg_prof_sample:19,"
    "lg_prof_interval:-1,prof_gdump:false,prof_final:false,prof_leak:false,prof_unbias:false,"
    "prof_log:false,tcache_max:32768,dss:disabled";
static_assert(NF_RUN_CHOSEN_BYTES == 1u << 19);

void* je_arena_malloc_hard(void* thread, void* arena, std::size_t size, unsigned index, bool zero);
void* je_arena_palloc(void* thread, void* arena, std::size_t size, std::size_t alignment, bool zero,
                      void* cache);
void je_arena_prof_promote(void* thread, const void* block, std::size_t size);
void je_arena_dalloc_promoted(void* thread, void* block, void* cache, bool slow);
void* je_rtree_leaf_elm_lookup_hard(void* thread, void* tree, void* cache, std::uintptr_t key,
                                    bool dependent, bool init_missing);

// The unwinder starts with the first stack that is walked.
void je_prof_unwind_init() {}

std::uintptr_t nf_prof_tctx_create(void*) {
  if (records) return not_sampled;
  if (active) {
    samples = true;
    return sampled;
  }
  // Libraries allocate in constructors that run before this library's. jemalloc always chooses the
  // first block of a process, so that block represents no others.
  wake();
  return not_sampled;
}
void nf_prof_alloc_rollback(void*, std::uintptr_t) {}

void nf_prof_malloc_sample_object(void*, const void* block, std::size_t size, std::size_t usable,
                                  std::uintptr_t) {
  record(block, size, usable, NEARFAR_THIS_CALL);
}

// Serves blocks that no cache serves and that need no alignment; jemalloc aligns sampled blocks.
void* nf_arena_malloc_hard(void* thread, void* arena, std::size_t size, unsigned index, bool zero) {
  void* block = je_arena_malloc_hard(thread, arena, size, index, zero);
  if (block != nullptr && size >= always_recorded) record_large(block, size, NEARFAR_THIS_CALL);
  return block;
}

// Serves blocks with an alignment, which sampled blocks have.
void* nf_arena_palloc(void* thread, void* arena, std::size_t size, std::size_t alignment, bool zero,
                      void* cache) {
  const bool is_sample = samples;
  samples = false;
  if (is_sample && size == lone_bytes && alignment == page_bytes && arena == nullptr) {
    if (void* extent = kept_extent(); extent != nullptr) {
      return zero ? memset(extent, 0, size) : extent;
    }
  }
  return je_arena_palloc(thread, arena, size, alignment, zero, cache);
}

// Called before each free and realloc of a block with pages of its own.
void nf_large_prof_info_get(void*, const Extent* extent, Sample* sample, bool) {
  sample->context = not_sampled;
  if (active && extent != nullptr && in_near_heap(extent->block) && is_recorded(extent->block)) {
    forget(extent->block);
  }
}

// For jemalloc, blocks of other allocators are small blocks with pages of their own, so that free
// calls the second function for them.
void* nf_rtree_leaf_elm_lookup_hard(void* thread, void* tree, void* cache, std::uintptr_t key,
                                    bool dependent, bool init_missing) {
  static std::uint64_t leaf[2];  // jemalloc's is this large on machines with wide addresses
  if (dependent && !is_ours(reinterpret_cast<void*>(key))) return leaf;
  return je_rtree_leaf_elm_lookup_hard(thread, tree, cache, key, dependent, init_missing);
}
void nf_arena_dalloc_promoted(void* thread, void* block, void* cache, bool slow) {
  if (!is_ours(block)) {
    foreign_free(block);
    return;
  }
  // Gives the block the size of its extent again.
  je_arena_prof_promote(thread, block, lone_bytes);
  if (!keep_extent(block)) je_arena_dalloc_promoted(thread, block, cache, slow);
}
}
#pragma GCC visibility pop
