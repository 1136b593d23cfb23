// The heap as the memory of a set: references are pointers, and nothing outlives the process.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace nearfar::bench {

class HeapMemory {
 public:
  static constexpr bool persistent = false;
  template <typename T>
  using Ref = T*;

  HeapMemory() = default;
  HeapMemory(const HeapMemory&) = delete;
  HeapMemory& operator=(const HeapMemory&) = delete;
  ~HeapMemory() { std::free(root_); }

  // Zero bytes the first time.
  void* root(std::size_t bytes) {
    if (root_ == nullptr) root_ = std::calloc(1, bytes);
    if (root_ == nullptr) throw std::bad_alloc();
    return root_;
  }
  template <typename T>
  [[nodiscard]] T* at(T* ref) const noexcept {
    return ref;
  }
  template <typename Body>
  void transaction(Body&& body) {
    std::forward<Body>(body)();
  }
  // Changes what is reachable; of a persistent memory: so that it can be undone.
  template <typename T>
  void change(T& place, const T& value) noexcept {
    place = value;
  }
  template <typename T>
  void snapshot(T* /*what*/, std::size_t /*bytes*/) noexcept {}
  template <typename T>
  T* make(std::size_t bytes) {
    void* got = std::malloc(bytes);
    if (got == nullptr) throw std::bad_alloc();
    return static_cast<T*>(got);
  }
  template <typename T>
  T* make_zeroed(std::size_t bytes) {
    void* got = std::calloc(1, bytes);
    if (got == nullptr) throw std::bad_alloc();
    return static_cast<T*>(got);
  }
  template <typename T>
  void release(T* ref) noexcept {
    std::free(ref);
  }

 private:
  void* root_ = nullptr;
};

}  // namespace nearfar::bench
