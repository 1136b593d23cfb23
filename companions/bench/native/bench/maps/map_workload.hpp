// Inserts into, looks up in and removes from a map, and verifies its content.
#pragma once

#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/kind.hpp"
#include "bench/maps/map.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {

std::vector<Parameter> map_parameters(bool with_name);

class MapWorkload final : public Workload {
 public:
  // Uses the map `name`.
  MapWorkload(Arguments& arguments, const std::string& name);

  void set_up() override;
  void warm_up() override;
  void run(Meter& meter) override;
  // Inserts keys in their order; then looks up, then removes, in the order of visits.
  void turn(const std::string& operation, std::uint64_t count, Meter& meter) override;
  void verify() override;
  bool reopen() override;
  [[nodiscard]] Durability durability() const override { return owned_->durability(); }

 private:
  // Runs the operations from `begin` to `end`.
  void part(Meter& meter, std::uint64_t begin, std::uint64_t end);
  template <bool Locked>
  void operate(Lane& lane, std::uint64_t begin, std::uint64_t end);
  void mark_removed(std::uint64_t begin, std::uint64_t end);
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
  std::vector<unsigned char> present_;  // by index in keys_
  std::unordered_map<std::uint64_t, std::uint64_t>
      places_;  // key -> index in keys_; built by the first removal
  struct {
    std::uint64_t inserted, got, removed;
  } turn_counts_{};  // operations done by turns
  std::unique_ptr<OwnedMap> owned_;
  mutable std::shared_mutex lock_;
};

}  // namespace nearfar::bench
