// Wraps CPython's allocators for objects and for memory of objects.
//
// They are wrapped when an arena is mapped, which usually happens at the first object. So they are
// not wrapped if Python does not use arenas (PYTHONMALLOC=malloc, builds without the interpreter's
// lock) or if the functions are missing. Blocks are not changed: earlier blocks are freed like the
// others, and Python may set other allocators at any time. Wrappers that are set later, such as
// those of tracemalloc, wrap these. A wrapper costs one test unless the block contains a sampled
// line. Frees are not reported: the arena keeps the memory, which counts for the last block at that
// place.
#include "profile/qemu/guest/python_blocks.hpp"

#include <dlfcn.h>
#include <errno.h>

#include <cstddef>

#include "profile/runtime/interpreter.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/python_allocator.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

namespace {

PythonAllocator originals[2];  // never changed after they are wrapped

// Not inlined, so that the fast path needs few registers.
[[gnu::noinline]] void report(std::uint64_t address, std::uint64_t size) {
  const int error = errno;
  piece_allocated(address, size, {});  // no call: its return addresses are not used
  errno = error;
}

inline void* reported(void* block, std::size_t size) {
  if (size > max_in_arena || !active() || block == nullptr) return block;
  const auto address = reinterpret_cast<std::uint64_t>(block);
  constexpr std::size_t alignment = 16;
  const std::uint64_t usable = size == 0 ? alignment : (size + alignment - 1) & ~(alignment - 1);
  if (runtime.lines.any_in(address, usable)) report(address, usable);
  return block;
}

// Allows frames to be read if the allocator calls malloc, as it does for large blocks.
template <typename F>
inline void* allocated(std::size_t size, F call) {
  if (size <= max_in_arena) return call();
  in_python_allocator = true;
  void* const block = call();
  in_python_allocator = false;
  return block;
}

void* allocate(void* context, std::size_t size) {
  const auto& original = *static_cast<const PythonAllocator*>(context);
  return reported(allocated(size, [&] { return original.allocate(original.context, size); }), size);
}

void* allocate_cleared(void* context, std::size_t count, std::size_t size) {
  const auto& original = *static_cast<const PythonAllocator*>(context);
  // If there is a block, the product did not overflow.
  void* const block = allocated(
      count * size, [&] { return original.allocate_cleared(original.context, count, size); });
  return reported(block, count * size);
}

void* resize(void* context, void* block, std::size_t size) {
  const auto& original = *static_cast<const PythonAllocator*>(context);
  void* const moved =
      allocated(size, [&] { return original.resize(original.context, block, size); });
  return moved == block ? moved : reported(moved, size);
}

void release(void* context, void* block) {
  const auto& original = *static_cast<const PythonAllocator*>(context);
  original.release(original.context, block);
}

}  // namespace

void watch_python_blocks() {
  static bool watched = false;
  if (__atomic_exchange_n(&watched, true, __ATOMIC_ACQ_REL)) return;
  using Function = void (*)(int, PythonAllocator*);
  const auto get = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "PyMem_GetAllocator"));
  const auto set = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "PyMem_SetAllocator"));
  if (get == nullptr || set == nullptr) return;
  for (unsigned i = 0; i < 2; ++i) {
    get(arena_domains[i], &originals[i]);
    PythonAllocator wrapper{&originals[i], allocate, allocate_cleared, resize, release};
    set(arena_domains[i], &wrapper);
  }
}

}  // namespace nearfar::profile
