// Base of workloads on a raw pool: creates, reopens and removes it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "bench/kind.hpp"
#include "bench/pool.hpp"

#ifdef NEARFAR_HAVE_PMEM

namespace nearfar::bench {

class PoolWorkload : public Workload {
 public:
  PoolWorkload(Arguments& arguments, std::string layout)
      : path_(arguments.text("pool")),
        requested_bytes_(arguments.size("pool_bytes")),
        layout_(std::move(layout)) {
    if (arguments.text("memory", {"pool", "volatile"}) != "pool") {
      throw BadArgument("this kind keeps its data in a pool: use memory=pool pool=FILE");
    }
    (void)arguments.count("seed");
    check_new_pool(path_);
  }

  void set_up() final {
    const Bytes bytes = requested_bytes_.count == 0 ? default_bytes() : requested_bytes_;
    if (bytes < min_bytes()) {
      throw BadArgument("pool_bytes=" + std::to_string(bytes.count) + " is too small: this needs " +
                        std::to_string(min_bytes().count) + " bytes");
    }
    removed_.emplace(path_);
    pool_.make(path_, layout_, bytes);
    // Touches every page before anything is timed.
    constexpr std::uint64_t page = 4096;
    for (std::uint64_t at = 0; at < bytes.count; at += page) pool_.data()[at] = std::byte{0};
    fill_new();
    pool_.persist(pool_.data(), bytes.count);
    pool_.seal();
    opened();
  }
  bool reopen() final {
    closing();
    pool_.close();
    pool_.open(path_, layout_);
    opened();
    return true;
  }
  [[nodiscard]] Durability durability() const override { return pool_.durability(); }

 protected:
  [[nodiscard]] virtual Bytes min_bytes() const = 0;
  [[nodiscard]] virtual Bytes default_bytes() const { return min_bytes(); }
  virtual void fill_new() {}  // fills a zeroed pool, which is then made durable
  virtual void opened() = 0;  // recovers the content
  virtual void closing() {}

  [[nodiscard]] RawPool& pool() { return pool_; }
  [[nodiscard]] const RawPool& pool() const { return pool_; }

 private:
  std::string path_;
  Bytes requested_bytes_;
  std::string layout_;
  std::optional<RemovedAtEnd> removed_;
  RawPool pool_;
};

}  // namespace nearfar::bench

#endif
