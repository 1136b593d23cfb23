// CPython's allocators, as its C API describes them.
#pragma once

#include <cstddef>

namespace nearfar::profile {

// PyMemAllocatorEx.
struct PythonAllocator {
  void* context;
  void* (*allocate)(void*, std::size_t);
  void* (*allocate_cleared)(void*, std::size_t, std::size_t);
  void* (*resize)(void*, void*, std::size_t);
  void (*release)(void*, void*);
};

// PyMemAllocatorDomain: the domains that use arenas, PYMEM_DOMAIN_MEM and PYMEM_DOMAIN_OBJ.
inline constexpr int arena_domains[] = {1, 2};

// Larger blocks come from malloc.
inline constexpr std::size_t max_in_arena = 512;

}  // namespace nearfar::profile
