// What workloads on a raw pool share: making, opening again, removing it.
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
  PoolWorkload(Arguments& given, std::string layout)
      : path_(given.text("pool")), asked_(given.size("pool_bytes")), layout_(std::move(layout)) {
    if (given.text("memory", {"pool", "volatile"}) != "pool") {
      throw BadArgument("this kind keeps its data in a pool: say memory=pool pool=FILE");
    }
    (void)given.count("seed");
    check_new_pool(path_);
  }

  void set_up() final {
    const Bytes wanted = asked_.count == 0 ? usual_bytes() : asked_;
    if (wanted < least_bytes()) {
      throw BadArgument("pool_bytes=" + std::to_string(wanted.count) +
                        " is too small: this needs " + std::to_string(least_bytes().count) +
                        " bytes");
    }
    removed_.emplace(path_);
    pool_.make(path_, layout_, wanted);
    // Every page is there before anything is timed.
    constexpr std::uint64_t page = 4096;
    for (std::uint64_t at = 0; at < wanted.count; at += page) pool_.data()[at] = std::byte{0};
    fill_new();
    pool_.persist(pool_.data(), wanted.count);
    pool_.sealed();
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
  [[nodiscard]] virtual Bytes least_bytes() const = 0;
  [[nodiscard]] virtual Bytes usual_bytes() const { return least_bytes(); }
  virtual void fill_new() {}  // of zeros; it is made durable afterwards
  virtual void opened() = 0;  // recover
  virtual void closing() {}

  [[nodiscard]] RawPool& pool() { return pool_; }
  [[nodiscard]] const RawPool& pool() const { return pool_; }

 private:
  std::string path_;
  Bytes asked_;
  std::string layout_;
  std::optional<RemovedAtEnd> removed_;
  RawPool pool_;
};

}  // namespace nearfar::bench

#endif
