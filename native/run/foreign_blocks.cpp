#include "run/foreign_blocks.hpp"

#include <string.h>

#include "base/hooks.hpp"
#include "run/jemalloc.hpp"
#include "run/state.hpp"

namespace nearfar::run {

void foreign_free(void* block) {
  NEARFAR_NEXT_AS(void (*)(void*), free);
  add(state.foreign_frees, std::uint64_t{1});
  if (real != nullptr) real(block);
}

std::size_t foreign_usable_size(void* block) {
  NEARFAR_NEXT_AS(std::size_t(*)(void*), malloc_usable_size);
  return real == nullptr ? 0 : real(block);
}

void* foreign_realloc(void* block, std::size_t size) {
  const std::size_t old = foreign_usable_size(block);
  void* moved = je_malloc(size == 0 ? 1 : size);
  if (moved == nullptr) return nullptr;
  memcpy(moved, block, old < size ? old : size);
  foreign_free(block);
  return moved;
}

}  // namespace nearfar::run
