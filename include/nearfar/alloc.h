/* Allocates with a tag, so that `nearfar profile` tells what is allocated under it apart and
 * `nearfar run` puts it where the plan says. C and C++, nothing to link: the blocks are malloc's,
 * so free() takes them too, and a program that is run by hand gets plain malloc.
 *
 *   struct user* user = nearfar_xmalloc("users", sizeof *user);
 *   nearfar_xfree(user);
 *
 * A tag is a string that lives as long as the program (a literal). The object is called after the
 * place in the source and the tag; the tag is looked at in the thread that allocates.
 *
 *   std::vector<user, nearfar::allocator<user>> users(nearfar::allocator<user>("users"));
 *   nearfar::memory_resource resource("users");        // std::pmr
 *   std::pmr::vector<user> more(&resource);
 */
#ifndef NEARFAR_ALLOC_H
#define NEARFAR_ALLOC_H

#include <stdlib.h>

#include "nearfar/mark.h"

/* Compilers know malloc and move it past other calls: these hold it between the two of the tag. */
#define NEARFAR_HOLD(value) __asm__ volatile("" : "+r"(value) : : "memory")

/* As malloc, calloc, realloc and aligned_alloc; null: no memory. */
static inline void* nearfar_xmalloc(const char* tag, size_t size) {
  NEARFAR_TAG(tag);
  NEARFAR_HOLD(size);
  void* block = malloc(size);
  NEARFAR_HOLD(block);
  return block;
}

static inline void* nearfar_xcalloc(const char* tag, size_t count, size_t size) {
  NEARFAR_TAG(tag);
  NEARFAR_HOLD(size);
  void* block = calloc(count, size);
  NEARFAR_HOLD(block);
  return block;
}

static inline void* nearfar_xrealloc(const char* tag, void* old, size_t size) {
  NEARFAR_TAG(tag);
  NEARFAR_HOLD(size);
  void* block = realloc(old, size);
  NEARFAR_HOLD(block);
  return block;
}

/* `alignment` is a power of two, a multiple of a pointer's size. */
static inline void* nearfar_xmalloc_aligned(const char* tag, size_t alignment, size_t size) {
  NEARFAR_TAG(tag);
  NEARFAR_HOLD(size);
  void* block = 0;
  const int error = posix_memalign(&block, alignment, size);
  NEARFAR_HOLD(block);
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

/* Throws std::bad_alloc; any alignment. */
inline void* tagged_new(const char* tag, std::size_t bytes, std::size_t alignment) {
  void* block = alignment <= alignof(std::max_align_t)
                    ? nearfar_xmalloc(tag, bytes == 0 ? 1 : bytes)
                    : nearfar_xmalloc_aligned(tag, alignment, bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

/* For containers: all of one tag are equal to each other, and any frees what any allocated. */
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
