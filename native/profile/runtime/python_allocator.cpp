#include "profile/runtime/python_allocator.hpp"

#include <cstdint>

namespace nearfar::profile {

namespace {

// CPython's own allocators while a scope replaces them: these serve small blocks, too, from malloc.
PythonAllocator originals[2];
std::uint32_t originals_lock = 0;

// True in the thread that replaced them; others are of other interpreters.
__thread bool is_aside __attribute__((tls_model("initial-exec"))) = false;

std::size_t beyond_arenas(std::size_t size) {
  return size > max_in_arena ? size : max_in_arena + 1;
}

// Blocks made since these allocators were set. Earlier ones may be in an arena.
void* made_blocks[256];
unsigned made_count = 0;

void* made(void* block) {
  if (is_aside && block != nullptr && made_count < sizeof made_blocks / sizeof *made_blocks)
    made_blocks[made_count++] = block;
  return block;
}

// Returns the block's entry, or null.
void** find_made(const void* block) {
  for (unsigned i = made_count; i != 0; --i) {
    if (made_blocks[i - 1] == block) return &made_blocks[i - 1];
  }
  return nullptr;
}

template <unsigned number>
void* allocate(void*, std::size_t size) {
  const PythonAllocator& original = originals[number];
  return made(original.allocate(original.context, beyond_arenas(size)));
}
template <unsigned number>
void* allocate_cleared(void*, std::size_t count, std::size_t size) {
  const PythonAllocator& original = originals[number];
  return made(original.allocate_cleared(original.context, 1, beyond_arenas(count * size)));
}
// Keeps an earlier block forever: the last reference to an object that is no frame's, such as a
// name that leaves CPython's cache of attributes, seldom ends here.
template <unsigned number>
void release(void*, void* block) {
  const PythonAllocator& original = originals[number];
  if (is_aside) {
    void** const entry = find_made(block);
    if (entry == nullptr) return;
    *entry = made_blocks[--made_count];
  }
  original.release(original.context, block);
}
// Fails for an earlier block, because it would be freed in its arena.
template <unsigned number>
void* resize(void*, void* block, std::size_t size) {
  const PythonAllocator& original = originals[number];
  void** const entry = is_aside && block != nullptr ? find_made(block) : nullptr;
  if (is_aside && block != nullptr && entry == nullptr) return nullptr;
  void* const moved = original.resize(original.context, block, beyond_arenas(size));
  if (entry == nullptr) return made(moved);
  if (moved != nullptr) *entry = moved;
  return moved;
}

constexpr PythonAllocator beside_arenas[2] = {
    {nullptr, allocate<0>, allocate_cleared<0>, resize<0>, release<0>},
    {nullptr, allocate<1>, allocate_cleared<1>, resize<1>, release<1>}};

}  // namespace

BesideArenas::BesideArenas(Get get, Set set)
    : set_(set), held_(__atomic_exchange_n(&originals_lock, 1u, __ATOMIC_ACQUIRE) == 0) {
  if (!held_) return;
  made_count = 0;
  is_aside = true;
  for (unsigned i = 0; i < 2; ++i) {
    get(arena_domains[i], &originals[i]);
    PythonAllocator allocator = beside_arenas[i];
    // The original's, because a thread of another interpreter may see only a part of the change.
    allocator.context = originals[i].context;
    set(arena_domains[i], &allocator);
  }
}

BesideArenas::~BesideArenas() {
  if (!held_) return;
  for (unsigned i = 0; i < 2; ++i) set_(arena_domains[i], &originals[i]);
  is_aside = false;
  __atomic_store_n(&originals_lock, 0u, __ATOMIC_RELEASE);
}

}  // namespace nearfar::profile
