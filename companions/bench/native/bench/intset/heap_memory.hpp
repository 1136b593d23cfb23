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

  // Returns zeroed memory the first time.
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
  // Changes reachable data; in persistent memory with a snapshot.
  template <typename T>
  void change(T& field, const T& value) noexcept {
    field = value;
  }
  template <typename T>
  void snapshot(T* /*what*/, std::size_t /*bytes*/) noexcept {}
  template <typename T>
  T* make(std::size_t bytes) {
    void* block = std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  template <typename T>
  T* make_zeroed(std::size_t bytes) {
    void* block = std::calloc(1, bytes);
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  template <typename T>
  void release(T* ref) noexcept {
    std::free(ref);
  }

 private:
  void* root_ = nullptr;
};

}  // namespace nearfar::bench
