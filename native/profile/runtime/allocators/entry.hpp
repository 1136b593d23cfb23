// One entry point of an allocator that a program links, wrapped by the linker (--wrap): it calls
// the real function and reports the block. Each is a separate object file in
// libnearfar_allocators.a, so that a link includes only those whose real function exists.
#pragma once

#include <cstddef>
#include <cstdint>

#define NEARFAR_JOIN_(a, b) a##b
#define NEARFAR_JOIN(a, b) NEARFAR_JOIN_(a, b)
#define NEARFAR_WRAPPER NEARFAR_JOIN(__wrap_, NEARFAR_NAME)
#define NEARFAR_REAL NEARFAR_JOIN(__real_, NEARFAR_NAME)

extern "C" {
void __nf_allocated(void* block, std::size_t usable, std::uint64_t return_address,
                    std::uint64_t frame_end);
void __nf_freed(void* block, std::size_t usable);
bool __nf_reports_itself(const void* real);
__attribute__((weak)) std::size_t NEARFAR_USABLE(void* block);
}

namespace {

// Arguments are passed on as the ABI passes integers and pointers; functions with fewer arguments
// ignore the rest.
using Word = std::uintptr_t;

// Functions with standard names may be the C library's, whose blocks are reported already.
[[maybe_unused]] inline bool is_reported(const void* real) {
  static int answer = -1;
  if (answer < 0) answer = NEARFAR_STANDARD && __nf_reports_itself(real) ? 1 : 0;
  return answer == 1;
}

// Returns the usable bytes of a block; 0 if the block must not be reported.
[[maybe_unused]] inline std::size_t usable(void* block, const void* real) {
  if (block == nullptr || &NEARFAR_USABLE == nullptr || is_reported(real)) return 0;
  return NEARFAR_USABLE(block);
}

}  // namespace

#define NEARFAR_REPORT(block)                                                           \
  __nf_allocated((block), usable((block), reinterpret_cast<const void*>(NEARFAR_REAL)), \
                 reinterpret_cast<std::uint64_t>(__builtin_return_address(0)),          \
                 reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()))

extern "C" {

#if NEARFAR_SHAPE == 'a'  // returns a block
void* NEARFAR_REAL(Word, Word, Word, Word);
void* NEARFAR_WRAPPER(Word a, Word b, Word c, Word d) {
  void* block = NEARFAR_REAL(a, b, c, d);
  NEARFAR_REPORT(block);
  return block;
}
#elif NEARFAR_SHAPE == 'p'  // returns a block in its first argument
int NEARFAR_REAL(void**, Word, Word);
int NEARFAR_WRAPPER(void** block, Word a, Word b) {
  const int error = NEARFAR_REAL(block, a, b);
  if (error == 0) NEARFAR_REPORT(*block);
  return error;
}
#elif NEARFAR_SHAPE == 'r'  // moves the block of its first argument
void* NEARFAR_REAL(void*, Word, Word, Word);
void* NEARFAR_WRAPPER(void* block, Word a, Word b, Word c) {
  const std::size_t before = usable(block, reinterpret_cast<const void*>(NEARFAR_REAL));
  __nf_freed(block, before);
  void* moved = NEARFAR_REAL(block, a, b, c);
  // The block could not grow and is kept.
  if (moved != nullptr || a == 0)
    NEARFAR_REPORT(moved);
  else
    NEARFAR_REPORT(block);
  return moved;
}
#else                       // frees the block of its first argument
void NEARFAR_REAL(void*, Word, Word);
void NEARFAR_WRAPPER(void* block, Word a, Word b) {
  __nf_freed(block, usable(block, reinterpret_cast<const void*>(NEARFAR_REAL)));
  NEARFAR_REAL(block, a, b);
}
#endif
}
