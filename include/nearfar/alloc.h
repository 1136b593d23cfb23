/* Allocators with a tag: `nearfar profile` reports a tag's allocations as a separate object, and
 * `nearfar run` places them as the plan says. For C and C++, without linking. The blocks come from
 * malloc, so free() accepts them; without nearfar, these are plain malloc calls.
 *
 *   struct user* user = nearfar_xmalloc("users", sizeof *user);
 *   nearfar_xfree(user);
 *
 * A tag is a string that lives as long as the program (a literal). An object's name is its place in
 * the source and the tag. The tag applies to the thread that allocates.
 *
 *   std::vector<user, nearfar::allocator<user>> users(nearfar::allocator<user>("users"));
 *   nearfar::memory_resource resource("users");        // std::pmr
 *   std::pmr::vector<user> more(&resource);
 */
#ifndef NEARFAR_ALLOC_H
#define NEARFAR_ALLOC_H

#include <stdlib.h>

#include "nearfar/mark.h"

/* Barrier: without it, compilers could move malloc, which they know, out of the tag's scope. */
#define NEARFAR_KEEP_IN_SCOPE(value) __asm__ volatile("" : "+r"(value) : : "memory")

/* Like malloc, calloc, realloc and aligned_alloc. They return null if memory is exhausted. */
static inline void* nearfar_xmalloc(const char* tag, size_t size) {
  NEARFAR_TAG(tag);
  NEARFAR_KEEP_IN_SCOPE(size);
  void* block = malloc(size);
  NEARFAR_KEEP_IN_SCOPE(block);
  return block;
}

static inline void* nearfar_xcalloc(const char* tag, size_t count, size_t size) {
  NEARFAR_TAG(tag);
  NEARFAR_KEEP_IN_SCOPE(size);
  void* block = calloc(count, size);
  NEARFAR_KEEP_IN_SCOPE(block);
  return block;
}

static inline void* nearfar_xrealloc(const char* tag, void* old, size_t size) {
  NEARFAR_TAG(tag);
  NEARFAR_KEEP_IN_SCOPE(size);
  void* block = realloc(old, size);
  NEARFAR_KEEP_IN_SCOPE(block);
  return block;
}

/* `alignment` is a power of two, a multiple of a pointer's size. */
static inline void* nearfar_xmalloc_aligned(const char* tag, size_t alignment, size_t size) {
  NEARFAR_TAG(tag);
  NEARFAR_KEEP_IN_SCOPE(size);
  void* block = 0;
  const int error = posix_memalign(&block, alignment, size);
  NEARFAR_KEEP_IN_SCOPE(block);
  return error == 0 ? block : 0;
}

static inline void nearfar_xfree(void* block) { free(block); }

#ifdef __cplusplus
#include <cstddef>
#include <new>
#if __cplusplus >= 201703L && defined(__has_include)
#if __has_include(<memory_resource>)
#include <memory_resource>
#define NEARFAR_HAS_PMR 1
#endif
#endif

namespace nearfar {

/* Accepts any alignment. Throws std::bad_alloc. */
inline void* tagged_new(const char* tag, std::size_t bytes, std::size_t alignment) {
  void* block = alignment <= alignof(std::max_align_t)
                    ? nearfar_xmalloc(tag, bytes == 0 ? 1 : bytes)
                    : nearfar_xmalloc_aligned(tag, alignment, bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

/* Allocator for containers. All instances are equal: each can free what another allocated. */
template <typename T>
class allocator {
 public:
  using value_type = T;
  explicit allocator(const char* tag) noexcept : tag_(tag) {}
  template <typename U>
  allocator(const allocator<U>& other) noexcept : tag_(other.tag()) {}

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(tagged_new(tag_, count * sizeof(T), alignof(T)));
  }
  void deallocate(T* block, std::size_t) noexcept { nearfar_xfree(block); }
  const char* tag() const noexcept { return tag_; }

 private:
  const char* tag_;
};

template <typename T, typename U>
bool operator==(const allocator<T>&, const allocator<U>&) noexcept {
  return true;
}
template <typename T, typename U>
bool operator!=(const allocator<T>&, const allocator<U>&) noexcept {
  return false;
}

#ifdef NEARFAR_HAS_PMR
class memory_resource : public std::pmr::memory_resource {
 public:
  explicit memory_resource(const char* tag) noexcept : tag_(tag) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return tagged_new(tag_, bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t, std::size_t) override { nearfar_xfree(block); }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return dynamic_cast<const memory_resource*>(&other) != nullptr;
  }
  const char* tag_;
};
#endif

}  // namespace nearfar
#endif
#endif
