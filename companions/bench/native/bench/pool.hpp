// Pools: files mapped by libpmem (RawPool) or libpmemobj (ObjectPool), with one sentence per kind
// of failure. Available if the libraries were installed at the build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/units.hpp"
#include "bench/durability.hpp"

#ifdef NEARFAR_HAVE_PMEM
#include <libpmemobj.h>
#endif

namespace nearfar::bench {

// Value of `needs` for kinds that need pools: empty if they are available.
#ifdef NEARFAR_HAVE_PMEM
inline constexpr const char* pools_need = "";
#else
inline constexpr const char* pools_need = "libpmemobj-dev and libpmem-dev";
#endif

#ifdef NEARFAR_HAVE_PMEM

// A mapped file with a header that names its layout; the content follows the header.
class RawPool {
 public:
  RawPool() = default;
  ~RawPool() { close(); }
  RawPool(const RawPool&) = delete;
  RawPool& operator=(const RawPool&) = delete;

  // Creates the file with header and `bytes`, zero. It is valid after seal(): open() refuses a file
  // whose creation was interrupted.
  void make(const std::string& path, const std::string& layout, Bytes bytes);
  void seal();
  void open(const std::string& path, const std::string& layout);
  void close() noexcept;

  [[nodiscard]] std::byte* data() const { return data_; }  // aligned to a page
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] bool is_pmem() const { return is_pmem_; }
  [[nodiscard]] Durability durability() const { return durability_of(path_, is_pmem_); }

  void persist(const void* address, std::size_t length) const;  // flush and fence, or msync
  // Copies and makes durable, by non-temporal stores if libpmem prefers them.
  void copy(void* to, const void* from, std::size_t length) const;
  // Like persist and copy, but without the fence (with msync: persists at once); drain() completes
  // them.
  void flush(const void* address, std::size_t length) const;
  void copy_no_drain(void* to, const void* from, std::size_t length) const;
  void drain() const;

 private:
  void map(const std::string& path, std::size_t create_bytes);
  std::string path_;
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  Bytes bytes_{};
  bool is_pmem_ = false;
};

// A libpmemobj pool. Its layout's name contains kind and version: "nearfar-map-1 hash-tx".
class ObjectPool {
 public:
  ObjectPool() = default;
  ~ObjectPool() { close(); }
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;

  void make(const std::string& path, const std::string& layout, Bytes bytes);
  void open(const std::string& path, const std::string& layout);
  void close() noexcept;

  // Allocates every page of persistent memory (real or assumed), so that no page fault is timed.
  // Does nothing for other files: the kernel would write all pages to disk.
  void populate() const;

  [[nodiscard]] PMEMobjpool* handle() const { return handle_; }
  [[nodiscard]] std::byte* base() const { return reinterpret_cast<std::byte*>(handle_); }
  [[nodiscard]] Durability durability() const;
  // Returns the root object; a new one is zero except for what `fill` writes, atomically.
  void* root(std::size_t bytes, const std::function<void(void*)>& fill = {}) const;
  // False in a pool that was created but not initialised.
  [[nodiscard]] bool has_root() const { return pmemobj_root_size(handle_) != 0; }

 private:
  std::string path_;
  PMEMobjpool* handle_ = nullptr;
  Bytes bytes_{};
};

#endif

// Throws BadArgument if the path is empty or exists.
void check_new_pool(const std::string& path);

// Removes the file when destroyed.
class RemovedAtEnd {
 public:
  explicit RemovedAtEnd(std::string path = "") : path_(std::move(path)) {}
  ~RemovedAtEnd();
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  RemovedAtEnd& operator=(const RemovedAtEnd&) = delete;

 private:
  std::string path_;
};

}  // namespace nearfar::bench
