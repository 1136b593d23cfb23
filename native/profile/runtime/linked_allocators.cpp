// Blocks of allocators that the program links. The entry points that the linker wraps
// (allocators/entry.hpp) report them; otherwise their memory would be a single mapping.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/runtime/hooks.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/pending_access.h"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/sites.hpp"
#include "profile/runtime/stack_walk.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// One entry point may call another; only the outer call is reported.
__thread const void* last_allocated __attribute__((tls_model("initial-exec")));
__thread const void* last_freed __attribute__((tls_model("initial-exec")));

// Most blocks are in the same mapping as the block before.
__thread Regions::Cursor last_region __attribute__((tls_model("initial-exec")));

// The site of the mappings that contain such blocks.
std::uint16_t mapping_site = site_none;

std::uint16_t mapping_at(std::uint64_t address) {
  const std::uint16_t site = runtime.regions.find(address, last_region);
  if (site < first_free_site || runtime.sites[site].kind != ObjectKind::mmap) return site_none;
  __atomic_store_n(&mapping_site, site, __ATOMIC_RELAXED);
  return site;
}

// Subtracts a small block's bytes from the mapping around it, because the block is counted
// separately. `back` undoes this.
void move_from_mapping(std::uint64_t address, std::uint64_t size, bool back) {
  Guard const guard;
  if (!guard || size >= large_block) return;
  const std::uint16_t site = mapping_at(address);
  if (site == site_none) return;
  const Weight weight = is_in_two_pages(address, size)
                            ? weight_of(sim::SampledLines::cover(address, size))
                            : weight_of(address, size, runtime.lines.overlap(address, size).bytes);
  if (back) {
    count_allocated(site, {0, weight.bytes});
  } else {
    count_freed(site, weight.bytes);
  }
}

// Gives a freed large block back to the allocator's mapping.
void return_to_mapping(std::uint64_t address, std::uint64_t size) {
  const std::uint16_t site = __atomic_load_n(&mapping_site, __ATOMIC_RELAXED);
  Guard const guard;
  if (!guard || site == site_none) return;
  if (runtime.regions.insert({address, address + size, site, true}))
    count_allocated(site, {0, size});
}

}  // namespace

void linked_block_allocated(void* block, std::uint64_t size, Call call) {
  if (!active() || block == nullptr || size == 0) return;
  const auto address = reinterpret_cast<std::uint64_t>(block);
  if (!runtime.lines.any_in(address, size)) return;
  const int error = errno;
  nf_settle_accesses();
  if (size >= large_block) {
    Guard const guard;
    if (guard) mapping_at(address);
  }
  move_from_mapping(address, size, false);
  block_allocated(address, size, 0, call);
  errno = error;
}

void linked_block_freed(void* block, std::uint64_t size) {
  if (!active() || block == nullptr || size == 0) return;
  const auto address = reinterpret_cast<std::uint64_t>(block);
  if (!runtime.lines.any_in(address, size)) return;
  const int error = errno;
  if (size >= unmappable_block) nf_settle_accesses();
  if (block_freed(address, size) != site_none) {
    if (size >= large_block) {
      return_to_mapping(address, size);
    } else {
      move_from_mapping(address, size, true);
    }
  }
  errno = error;
}

}  // namespace nearfar::profile

#pragma GCC visibility push(default)
extern "C" {

void __nf_allocated(void* block, std::size_t usable, std::uint64_t return_address,
                    std::uint64_t frame_end) {
  using namespace nearfar::profile;
  if (block == last_allocated) return;
  last_allocated = block;
  last_freed = nullptr;
  linked_block_allocated(block, usable, Call{return_address, frame_end});
}

void __nf_freed(void* block, std::size_t usable) {
  using namespace nearfar::profile;
  if (block == last_freed) return;
  last_freed = block;
  last_allocated = nullptr;
  linked_block_freed(block, usable);
}

bool __nf_reports_itself(const void* real) {
  using namespace nearfar::profile;
  // The program has its own malloc, so no allocation reaches the hooks.
  if (dlsym(RTLD_DEFAULT, "malloc") != own_malloc()) return false;
  Dl_info info{};
  if (dladdr(real, &info) == 0 || info.dli_fname == nullptr) return false;
  // The function is a hook itself, or an operator new that calls a hook.
  return strstr(info.dli_fname, "/libnearfar_") != nullptr ||
         strstr(info.dli_fname, "/libstdc++.so") != nullptr ||
         strstr(info.dli_fname, "/libc++") != nullptr ||
         strstr(info.dli_fname, "/libc.so") != nullptr;
}
}
#pragma GCC visibility pop
