// A pool with the three sets and a description of its creation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "bench/intset/hash_set.hpp"
#include "bench/intset/list.hpp"
#include "bench/intset/object_memory.hpp"
#include "bench/intset/skip_list.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {

template <typename Reference>
struct SetRoot {
  using Memory = ObjectMemory<Reference>;
  std::uint64_t range;    // keys are below it
  std::uint64_t buckets;  // 0: the pool's creation was interrupted
  std::uint64_t seed;     // of drive; 0: filled otherwise
  std::uint64_t operations;
  typename ListLayout<Memory>::Root list;
  typename HashLayout<Memory>::Root hash;
  typename SkipLayout<Memory>::Root skip;

  template <typename Set>
  typename Set::Root& of() {
    if constexpr (std::is_same_v<typename Set::Root, decltype(list)>)
      return list;
    else if constexpr (std::is_same_v<typename Set::Root, decltype(hash)>)
      return hash;
    else
      return skip;
  }
};

template <typename Reference>
class SetPool {
 public:
  static std::string layout() {
    return std::is_same_v<Reference, Offset> ? "nearfar-intset-1 offset"
                                             : "nearfar-intset-1 pmemoid";
  }
  // `bytes`: 0 for the size of `range` keys in each set.
  void make(const std::string& path, Bytes bytes, std::uint64_t range, std::uint64_t buckets,
            std::uint64_t seed = 0, std::uint64_t operations = 0) {
    // An element takes at most an allocation of 64 bytes (skip list: of 1.3 levels on average);
    // libpmemobj needs 8 MiB, has 2 MiB of logs, and fragments.
    constexpr std::uint64_t base_bytes = 32U << 20U;
    constexpr std::uint64_t element = 128;
    constexpr std::uint64_t bucket = 16;
    if (bytes.count == 0) bytes = {base_bytes + range * element + buckets * bucket};
    pool_.make(path, layout(), bytes);
    attach();
    describe(range, buckets, seed, operations);
  }
  // Call it before operations other than those passed to make(). Describes a pool whose creation
  // was interrupted; marks the content of any other as not known from a seed.
  void begin(std::uint64_t range, std::uint64_t buckets) {
    const bool complete = root_->buckets != 0;
    describe(complete ? root_->range : range, complete ? root_->buckets : buckets, 0, 0);
  }
  void open(const std::string& path) {
    pool_.open(path, layout());
    attach();
  }
  void close() {
    memory_.reset();
    pool_.close();
  }
  [[nodiscard]] ObjectMemory<Reference>& memory() { return *memory_; }
  [[nodiscard]] SetRoot<Reference>& root() { return *root_; }
  [[nodiscard]] Durability durability() const { return pool_.durability(); }

 private:
  void describe(std::uint64_t range, std::uint64_t buckets, std::uint64_t seed,
                std::uint64_t operations) {
    memory_->transaction([&] {
      memory_->snapshot(root_, offsetof(SetRoot<Reference>, list));
      root_->range = range;
      root_->buckets = buckets;
      root_->seed = seed;
      root_->operations = operations;
    });
  }
  void attach() {
    memory_ = std::make_unique<ObjectMemory<Reference>>(pool_.handle());
    root_ = static_cast<SetRoot<Reference>*>(memory_->root(sizeof(SetRoot<Reference>)));
  }
  ObjectPool pool_;
  std::unique_ptr<ObjectMemory<Reference>> memory_;
  SetRoot<Reference>* root_ = nullptr;
};

}  // namespace nearfar::bench
