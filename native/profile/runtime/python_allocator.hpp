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

// Keeps new objects out of CPython's arenas for a scope, unless another interpreter's thread does.
// The interpreter's lock is held. CPython's own allocators free these objects as well, as blocks of
// malloc.
class BesideArenas {
 public:
  // PyMem_GetAllocator and PyMem_SetAllocator.
  using Get = void (*)(int, PythonAllocator*);
  using Set = void (*)(int, const PythonAllocator*);

  BesideArenas(Get get, Set set);
  ~BesideArenas();
  BesideArenas(const BesideArenas&) = delete;
  BesideArenas& operator=(const BesideArenas&) = delete;
  explicit operator bool() const { return held_; }

 private:
  Set set_;
  bool held_;
};

}  // namespace nearfar::profile
