// Storage in a new pool or in plain memory, by `memory=`, for workloads on arrays.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "bench/kind.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {

class Storage {
 public:
  // `content` names the content in errors. Reads memory=, pool= and pool_bytes=.
  Storage(Arguments& arguments, const char* layout, const char* content)
      : in_pool_(arguments.text("memory", {"volatile", "pool"}) == "pool"),
        path_(arguments.text("pool")),
        requested_bytes_(arguments.size("pool_bytes")),
        layout_(layout),
        content_(content) {}

  // Throws if the storage cannot be created.
  void check() const {
    if (!in_pool_) return;
#ifdef NEARFAR_HAVE_PMEM
    check_new_pool(path_);
#else
    throw MachineError(
        "memory=pool needs libpmem-dev, which was not installed when nearfar was "
        "built: install it and build again");
#endif
  }

  [[nodiscard]] bool in_pool() const noexcept { return in_pool_; }

  // Returns `bytes`, page-aligned in plain memory. A pool must be sealed afterwards.
  std::byte* make(std::uint64_t bytes) {
    if (!in_pool_) {
      constexpr std::size_t page = 4096;
      heap_.reset(static_cast<std::byte*>(std::aligned_alloc(page, (bytes / page + 1) * page)));
      if (heap_ == nullptr) throw std::bad_alloc();
      return heap_.get();
    }
#ifdef NEARFAR_HAVE_PMEM
    if (requested_bytes_.count != 0 && requested_bytes_.count < bytes) {
      throw BadArgument("pool_bytes=" + std::to_string(requested_bytes_.count) +
                        " is too small: " + content_ + " need " + std::to_string(bytes));
    }
    removed_.emplace(path_);
    pool_.make(path_, layout_, {bytes});
    return pool_.data();
#else
    return nullptr;  // unreachable: check() threw
#endif
  }

  // Closes and opens the pool; returns the content, or null in plain memory.
  std::byte* reopen() {
#ifdef NEARFAR_HAVE_PMEM
    if (in_pool_) {
      pool_.close();
      pool_.open(path_, layout_);
      return pool_.data();
    }
#endif
    return nullptr;
  }

  // These do nothing in plain memory.
  void seal() {
#ifdef NEARFAR_HAVE_PMEM
    if (in_pool_) pool_.seal();
#endif
  }
  void persist([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t bytes) {
#ifdef NEARFAR_HAVE_PMEM
    if (in_pool_) pool_.persist(at, bytes);
#endif
  }

  [[nodiscard]] bool is_pmem() const {
#ifdef NEARFAR_HAVE_PMEM
    return in_pool_ && pool_.is_pmem();
#else
    return false;
#endif
  }
  [[nodiscard]] Durability durability() const {
#ifdef NEARFAR_HAVE_PMEM
    if (in_pool_) return pool_.durability();
#endif
    return {};
  }

 private:
  struct Free {
    void operator()(std::byte* at) const noexcept { std::free(at); }
  };

  bool in_pool_;
  std::string path_;
  Bytes requested_bytes_;
  const char* layout_;
  const char* content_;
  std::unique_ptr<std::byte[], Free> heap_;
#ifdef NEARFAR_HAVE_PMEM
  std::optional<RemovedAtEnd> removed_;
  RawPool pool_;
#endif
};

}  // namespace nearfar::bench
