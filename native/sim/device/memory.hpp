// A whole memory: caches in front, devices behind them, translation before; and the time in it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/device/device.hpp"
#include "sim/device/parameters.hpp"

namespace nearfar::sim {

class Memory {
 public:
  // Throws std::invalid_argument for parameters that make no memory.
  explicit Memory(const Parameters& parameters);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;
  ~Memory() = default;

  [[nodiscard]] Nanoseconds now() const { return now_; }
  void rest(Nanoseconds length) { now_ = now_ + length; }
  [[nodiscard]] unsigned levels() const { return static_cast<unsigned>(read_.size()); }

  // A load of the line at `address`: where it was found (caches, buffers, medium, in this order).
  // The time of it passes.
  template <typename Vector>
  unsigned load(std::uint64_t address) {
    const unsigned level = find<Vector>(address, false);
    pass(read_[level]);
    return level;
  }
  // A store through the caches: the line is fetched, and dirty lines that leave are written.
  template <typename Vector>
  unsigned store(std::uint64_t address) {
    const unsigned level = find<Vector>(address, true);
    pass(read_[level]);
    return level;
  }
  // A line written to its device and no copy left in caches: where it found its place
  // (Device::Written).
  template <typename Vector>
  unsigned write_through(std::uint64_t address) {
    wait_for_refresh();
    const Place place = place_of(address);
    const auto written = devices_[place.device].template write<Vector>(place.address, now_);
    now_ = written.accepted;
    return written.level;
  }
  // A write begins that the device counts for wear.
  void begin_write(std::uint64_t address) {
    const Place place = place_of(address);
    now_ = now_ + devices_[place.device].wear(place.address, now_);
  }
  // Looks the page up; a walk takes its time.
  template <typename Vector>
  bool translate(std::uint32_t page) {
    if (tlb_.empty() || tlb_[0].access<Vector>(page, false).hit) return true;
    now_ = now_ + walk_;
    return false;
  }
  void prefetch(std::uint64_t address) const {
    for (const Cache& cache : caches_) {
      if (cache.is_large) cache.blocks.prefetch(static_cast<std::uint32_t>(address >> 6U));
    }
  }

  [[nodiscard]] std::uint64_t media_writes() const;
  [[nodiscard]] std::uint64_t wear_stalls() const;
  [[nodiscard]] std::uint64_t refresh_stalls() const { return refresh_stalls_; }

 private:
  struct Place {
    std::uint32_t device;
    std::uint64_t address;
  };
  [[nodiscard]] Place place_of(std::uint64_t address) const {
    if (devices_.size() == 1) return {0, address};
    const std::uint64_t unit = address >> granularity_log2_;
    const std::uint64_t row = unit / devices_.size();
    const std::uint64_t offset = address & ((std::uint64_t{1} << granularity_log2_) - 1);
    return {static_cast<std::uint32_t>(unit - row * devices_.size()),
            row << granularity_log2_ | offset};
  }

  template <typename Vector>
  unsigned find(std::uint64_t address, bool write) {
    const auto line = static_cast<std::uint32_t>(address >> 6U);
    const auto count = static_cast<unsigned>(caches_.size());
    for (unsigned i = 0; i < count; ++i) {
      // Only the first cache learns of the store; the others when the line leaves those before.
      const Looked looked = caches_[i].blocks.access<Vector>(line, write && i == 0);
      if (looked.evicted_dirty()) write_back<Vector>(i + 1, looked.evicted_block());
      if (looked.hit) return i;
    }
    const Place place = place_of(address);
    return count + devices_[place.device].template read<Vector>(place.address);
  }
  template <typename Vector>
  void write_back(unsigned level, std::uint32_t line) {
    for (; level < caches_.size(); ++level) {
      const Looked looked = caches_[level].blocks.access<Vector>(line, true);
      if (looked.hit || !looked.evicted_dirty()) return;
      line = looked.evicted_block();
    }
    const Place place = place_of(std::uint64_t{line} << 6U);
    // Posted: whoever made the line leave waits only if the queue is full.
    const auto written = devices_[place.device].template write<Vector>(place.address, now_);
    if (written.accepted.count - now_.count > accept_.count) now_ = written.accepted;
    ++written_back_;
  }

  void pass(Nanoseconds length) {
    wait_for_refresh();
    now_ = now_ + length;
  }
  void wait_for_refresh() {
    if (refresh_.period.count <= 0 || now_ < next_refresh_) return;
    refreshed();
  }
  void refreshed();

  struct Cache {
    Blocks blocks;
    bool is_large;
  };
  std::vector<Cache> caches_;
  std::vector<Device> devices_;
  std::vector<Blocks> tlb_;  // one, or none
  std::vector<Nanoseconds> read_;
  unsigned granularity_log2_;
  Nanoseconds accept_;
  Nanoseconds walk_;
  RefreshParameters refresh_;
  Nanoseconds now_;
  Nanoseconds next_refresh_;
  std::uint64_t refresh_stalls_ = 0;
  std::uint64_t written_back_ = 0;
};

}  // namespace nearfar::sim
