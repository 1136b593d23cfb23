// malloc and related functions. While the runtime is inert, each is a test and a jump. While it is
// active, most blocks touch no sampled line, which costs one more test.
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "profile/runtime/hooks.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/stack_walk.hpp"

using nearfar::profile::active;
using nearfar::profile::block_allocated;
using nearfar::profile::block_cleared;
using nearfar::profile::block_copied;
using nearfar::profile::block_freed;
using nearfar::profile::block_kept;
using nearfar::profile::block_size;
using nearfar::profile::block_size_of_glibc;
using nearfar::profile::Call;
using nearfar::profile::header_bytes;
using nearfar::profile::linked_block_allocated;
using nearfar::profile::linked_block_freed;
using nearfar::profile::need_real_functions;
using nearfar::profile::real;
using nearfar::profile::runtime;
using nearfar::profile::site_none;
using nearfar::profile::unmappable_block;
namespace sim = nearfar::sim;

namespace {

// Not inlined, so that the fast path needs few registers.
[[gnu::noinline]] void attribute(std::uint64_t address, std::uint64_t size, Call call) {
  const int error = errno;
  if (size < unmappable_block) {
    nf_keep_owners();
  } else {
    nf_settle_accesses();
  }
  block_allocated(address, size, header_bytes, call);
  errno = error;
}

inline void* report_allocation(void* block, Call call) {
  if (active() && block != nullptr) {
    if (header_bytes == 0) {
      linked_block_allocated(block, block_size(block), call);
      return block;
    }
    const auto address = reinterpret_cast<std::uint64_t>(block);
    const std::uint64_t size = block_size(block);
    if (runtime.lines.any_in(address - header_bytes, size + header_bytes)) {
      attribute(address, size, call);
    }
  }
  return block;
}

[[gnu::noinline]] void* report_near_sampled_line(void* block, Call call) {
  return report_allocation(block, call);
}

[[gnu::noinline]] void report_free_near_sampled_line(void* block) {
  const auto address = reinterpret_cast<std::uint64_t>(block);
  const std::uint64_t size = block_size(block);
  if (header_bytes == 0) {
    linked_block_freed(block, size);
  } else if (runtime.lines.any_in(address, size)) {
    if (size >= unmappable_block) nf_settle_accesses();
    block_freed(address, size);
  }
}

// From this size on, glibc rounds sizes to pages, and the cost of the check is negligible.
constexpr std::uint64_t large_request = 64 << 10;

bool is_mapped_separately(void* block) {
  return (nearfar::profile::header_of(block) & nearfar::profile::mapped_separately) != 0;
}

}  // namespace

// Another name, which nothing replaces.
// NOLINTNEXTLINE(clang-diagnostic-unknown-attributes): GCC asks for copy, clang does not know it.
extern "C" [[gnu::alias("malloc"), gnu::copy(malloc),
             gnu::visibility("hidden")]] void* nf_own_malloc(size_t) noexcept;

void* nearfar::profile::own_malloc() { return reinterpret_cast<void*>(&nf_own_malloc); }

#pragma GCC visibility push(default)
extern "C" {

void* malloc(size_t size) noexcept {
  need_real_functions();
  void* block = real.malloc(size);
  if (__atomic_load_n(&runtime.usual, __ATOMIC_RELAXED) && size < large_request) {
    // Reads the block's header, which may not be cached, only if a sampled line is near. glibc adds
    // at most 46 bytes to the request (header, rounding, a remainder too small to split).
    constexpr std::uint64_t max_slack = 48;
    const std::uint64_t begin = reinterpret_cast<std::uint64_t>(block) - 8;
    if (!sim::SampledLines::any_in_at_usual_rate(begin, size + max_slack)) return block;
    return report_near_sampled_line(block, NEARFAR_THIS_CALL);
  }
  return active() ? report_near_sampled_line(block, NEARFAR_THIS_CALL) : block;
}

void* calloc(size_t count, size_t size) noexcept {
  need_real_functions();
  void* block = report_allocation(real.calloc(count, size), NEARFAR_THIS_CALL);
  // A separate mapping comes zeroed from the kernel.
  if (active() && block != nullptr && header_bytes != 0 && !is_mapped_separately(block)) {
    block_cleared(reinterpret_cast<std::uint64_t>(block), count * size);
  }
  return block;
}

void free(void* block) noexcept {
  need_real_functions();
  if (block != nullptr) {
    if (__atomic_load_n(&runtime.usual, __ATOMIC_RELAXED)) {
      const auto address = reinterpret_cast<std::uint64_t>(block);
      if (sim::SampledLines::any_in_at_usual_rate(address, block_size_of_glibc(block))) {
        report_free_near_sampled_line(block);
      }
    } else if (active()) {
      report_free_near_sampled_line(block);
    }
  }
  real.free(block);
}

void* realloc(void* block, size_t size) noexcept {
  need_real_functions();
  if (!active() || block == nullptr)
    return report_allocation(real.realloc(block, size), NEARFAR_THIS_CALL);
  const auto address = reinterpret_cast<std::uint64_t>(block);
  const std::uint64_t old_size = block_size(block);
  if (header_bytes == 0) {
    linked_block_freed(block, old_size);
    void* moved = real.realloc(block, size);
    if (moved == nullptr && size != 0) {
      linked_block_allocated(block, old_size, NEARFAR_THIS_CALL);
      return nullptr;
    }
    return report_allocation(moved, NEARFAR_THIS_CALL);
  }
  const bool copied = header_bytes != 0 && !is_mapped_separately(block);
  std::uint16_t site = site_none;
  nf_settle_accesses();
  if (runtime.lines.any_in(address, old_size)) site = block_freed(address, old_size);
  void* moved = real.realloc(block, size);
  if (moved == nullptr && size != 0) {
    block_kept(address, old_size, site);
    return nullptr;
  }
  report_allocation(moved, NEARFAR_THIS_CALL);
  if (copied && moved != nullptr && moved != block) {
    block_copied(address, reinterpret_cast<std::uint64_t>(moved),
                 size < old_size ? size : old_size);
  }
  return moved;
}

void* reallocarray(void* block, size_t count, size_t size) noexcept {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

void* memalign(size_t alignment, size_t size) noexcept {
  need_real_functions();
  return report_allocation(real.memalign(alignment, size), NEARFAR_THIS_CALL);
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  need_real_functions();
  return report_allocation(real.aligned_alloc(alignment, size), NEARFAR_THIS_CALL);
}

int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  need_real_functions();
  const int error = real.posix_memalign(block, alignment, size);
  if (error == 0) report_allocation(*block, NEARFAR_THIS_CALL);
  return error;
}

void* valloc(size_t size) noexcept {
  need_real_functions();
  return report_allocation(real.valloc(size), NEARFAR_THIS_CALL);
}

void* pvalloc(size_t size) noexcept {
  need_real_functions();
  return report_allocation(real.pvalloc(size), NEARFAR_THIS_CALL);
}
}
#pragma GCC visibility pop
