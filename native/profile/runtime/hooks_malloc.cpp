// malloc and related functions. While the runtime is inert, each is a test and a jump. While it is
// active, most blocks touch no sampled line: a pair of malloc and free then takes 53 instructions
// more (docs/tracing.md).
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "profile/runtime/hooks.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/stack_walk.hpp"
#include "profile/runtime/usual_blocks.hpp"

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
using nearfar::profile::header_of;
using nearfar::profile::linked_block_allocated;
using nearfar::profile::linked_block_freed;
using nearfar::profile::max_slack;
using nearfar::profile::need_real_functions;
using nearfar::profile::real;
using nearfar::profile::report_and_free;
using nearfar::profile::report_any_free;
using nearfar::profile::reported;
using nearfar::profile::runtime;
using nearfar::profile::unmappable_block;
namespace sim = nearfar::sim;

void* nearfar::profile::report_any_allocation(void* block, Call call) {
  if (header_bytes == 0) {
    linked_block_allocated(block, block_size(block), call);
    return block;
  }
  const std::uint64_t size = block_size_of_glibc(block);
  if (size < unmappable_block) {
    nf_keep_owners();
  } else {
    nf_settle_accesses();
  }
  block_allocated(reinterpret_cast<std::uint64_t>(block), size, header_bytes, call);
  return block;
}

void nearfar::profile::report_any_free(void* block) {
  if (header_bytes == 0) {
    linked_block_freed(block, block_size(block));
    return;
  }
  const std::uint64_t size = block_size_of_glibc(block);
  if (size >= unmappable_block) nf_settle_accesses();
  block_freed(reinterpret_cast<std::uint64_t>(block), size);
}

namespace {

void* report_allocation(void* block, Call call) { return active() ? reported(block, call) : block; }

bool is_mapped_separately(void* block) {
  return (header_of(block) & nearfar::profile::mapped_separately) != 0;
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
  void* block = real.malloc(size);
  if (size < __atomic_load_n(&runtime.fast_bytes, __ATOMIC_RELAXED)) [[likely]] {
    // Reads the block's header, which may not be cached, only if a sampled line is near.
    const std::uint64_t begin = reinterpret_cast<std::uint64_t>(block) - 8;
    if (!sim::SampledLines::any_in_at_usual_rate(begin, size + max_slack)) [[likely]]
      return block;
  }
  return report_allocation(block, NEARFAR_THIS_CALL);
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
  if (block != nullptr) {
    const std::uint64_t fast_bytes = __atomic_load_n(&runtime.fast_bytes, __ATOMIC_RELAXED);
    if (fast_bytes == 0) [[unlikely]] {
      if (active()) report_any_free(block);
    } else {
      // The header is at least the size of the block and itself.
      const std::uint64_t head = header_of(block);
      if (head >= fast_bytes ||
          sim::SampledLines::any_in_at_usual_rate(reinterpret_cast<std::uint64_t>(block), head - 8))
          [[unlikely]] {
        report_and_free(block, head);
        return;
      }
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
  nf_settle_accesses();
  const std::uint16_t site = block_freed(address, old_size);
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
