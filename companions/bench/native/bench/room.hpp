// Bytes in a new pool or in plain memory, as `memory=` says: for workloads that keep arrays.
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

class Room {
 public:
  // `holds` names the content in a refusal. Reads memory=, pool= and pool_bytes=.
  Room(Arguments& given, const char* layout, const char* holds)
      : in_pool_(given.text("memory", {"volatile", "pool"}) == "pool"),
        path_(given.text("pool")),
        asked_(given.size("pool_bytes")),
        layout_(layout),
        holds_(holds) {}

  // Refuses what cannot be made, before anything is.
  void check() const {
    if (!in_pool_) return;
#ifdef NEARFAR_HAVE_PMEM
    check_new_pool(path_);
#else
    throw MachineLacks(
        "memory=pool needs libpmem-dev, which was not there when nearfar was "
        "built: install it and build again");
#endif
  }

  [[nodiscard]] bool in_pool() const noexcept { return in_pool_; }

  // Returns `bytes`, at the begin of a page in plain memory. A pool is to be sealed.
  std::byte* make(std::uint64_t bytes) {
    if (!in_pool_) {
      constexpr std::size_t page = 4096;
      heap_.reset(static_cast<std::byte*>(std::aligned_alloc(page, (bytes / page + 1) * page)));
      if (heap_ == nullptr) throw std::bad_alloc();
      return heap_.get();
    }
#ifdef NEARFAR_HAVE_PMEM
    if (asked_.count != 0 && asked_.count < bytes) {
      throw BadArgument("pool_bytes=" + std::to_string(asked_.count) + " is too small: " + holds_ +
                        " need " + std::to_string(bytes));
    }
    removed_.emplace(path_);
    pool_.make(path_, layout_, {bytes});
    return pool_.data();
#else
    return nullptr;  // check() refused
#endif
  }

  // Returns where the content is after the pool was closed and opened; null in plain memory.
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

  // In plain memory these do nothing.
  void seal() {
#ifdef NEARFAR_HAVE_PMEM
    if (in_pool_) pool_.sealed();
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
  Bytes asked_;
  const char* layout_;
  const char* holds_;
  std::unique_ptr<std::byte[], Free> heap_;
#ifdef NEARFAR_HAVE_PMEM
  std::optional<RemovedAtEnd> removed_;
  RawPool pool_;
#endif
};

}  // namespace nearfar::bench
