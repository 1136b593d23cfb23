// Pools: files mapped by libpmem (RawPool) or libpmemobj (ObjectPool), and one sentence for all
// that can be wrong with one. Only where the libraries were there at the build.
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

// What a kind that needs pools says in `needs`: nothing where they can be made.
#ifdef NEARFAR_HAVE_PMEM
inline constexpr const char* pools_need = "";
#else
inline constexpr const char* pools_need = "libpmemobj-dev and libpmem-dev";
#endif

#ifdef NEARFAR_HAVE_PMEM

// A mapped file with a header that names its layout; the content begins after the header.
class RawPool {
 public:
  RawPool() = default;
  ~RawPool() { close(); }
  RawPool(const RawPool&) = delete;
  RawPool& operator=(const RawPool&) = delete;

  // Makes the file of header and `bytes`, zero. It is a pool from sealed() on: a file whose making
  // was cut off is refused by open().
  void make(const std::string& path, const std::string& layout, Bytes bytes);
  void sealed();
  void open(const std::string& path, const std::string& layout);
  void close() noexcept;

  [[nodiscard]] std::byte* data() const { return data_; }  // a whole page
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] bool is_pmem() const { return is_pmem_; }
  [[nodiscard]] Durability durability() const { return durability_of(path_, is_pmem_); }

  void persist(const void* address, std::size_t length) const;  // flush and fence, or msync
  // Copies and makes durable, by streaming stores where libpmem finds that better.
  void copy(void* to, const void* from, std::size_t length) const;
  // Without the fence (with msync: persists at once); drain() ends them.
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

// A libpmemobj pool. Its layout's name says kind and version: "nearfar-map-1 hash-tx".
class ObjectPool {
 public:
  ObjectPool() = default;
  ~ObjectPool() { close(); }
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;

  void make(const std::string& path, const std::string& layout, Bytes bytes);
  void open(const std::string& path, const std::string& layout);
  void close() noexcept;

  // Gives every page of persistent memory (or what is taken for it) now rather than while a
  // workload is timed. Of other files nothing: the kernel would write them all to the disk.
  void populate() const;

  [[nodiscard]] PMEMobjpool* handle() const { return handle_; }
  [[nodiscard]] std::byte* base() const { return reinterpret_cast<std::byte*>(handle_); }
  [[nodiscard]] Durability durability() const;
  // The root object; zero but for what `fill` writes when it is new, which happens whole or not.
  void* root(std::size_t bytes, const std::function<void(void*)>& fill = {}) const;
  // False in a pool that was made and not begun.
  [[nodiscard]] bool has_root() const { return pmemobj_root_size(handle_) != 0; }

 private:
  std::string path_;
  PMEMobjpool* handle_ = nullptr;
  Bytes bytes_{};
};

#endif

// A path that a run's pool can be made at: refuses an empty one and one that exists.
void check_new_pool(const std::string& path);

// Removes the file at its end.
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
