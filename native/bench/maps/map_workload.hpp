// Inserts into, looks up in and removes from a map; what it holds is compared afterwards.
#pragma once

#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "bench/kind.hpp"
#include "bench/maps/map.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {

std::vector<Parameter> map_parameters(bool with_name);

class MapWorkload final : public Workload {
 public:
  // Of the map `name`.
  MapWorkload(Arguments& given, const std::string& name);

  void set_up() override;
  void warm_up() override;
  void run(Meter& meter) override;
  void verify() override;
  bool reopen() override;
  [[nodiscard]] Durability durability() const override { return held_->durability(); }

 private:
  template <bool Locked>
  void operate(Lane& lane);
  void mixed_operation(Lane& lane);
  std::uint64_t read(std::uint64_t key) const;
  [[nodiscard]] Bytes pool_bytes() const;

  const MapType& type_;
  std::string operation_;
  std::uint64_t n_;
  std::uint64_t operations_;
  std::string keys_order_;
  std::string visit_order_;
  Elements elements_;
  std::uint64_t reads_;
  std::uint64_t warm_up_;
  unsigned threads_;
  std::uint64_t seed_;
  std::string path_;
  Bytes pool_bytes_;
  RemovedAtEnd removed_;

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> visits_;
  std::vector<unsigned char> there_;  // by place in keys_
  std::unique_ptr<HeldMap> held_;
  mutable std::shared_mutex lock_;
};

}  // namespace nearfar::bench
