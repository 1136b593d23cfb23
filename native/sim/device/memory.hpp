// A whole memory: caches in front, devices behind them, translation before; and the time in it.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/device/device.hpp"
#include "sim/device/parameters.hpp"
#include "sim/memory_mode/direct_mapped.hpp"

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
    pass(level);
    return level;
  }
  // A store through the caches: the line is fetched, and dirty lines that leave are written.
  template <typename Vector>
  unsigned store(std::uint64_t address) {
    const unsigned level = find<Vector>(address, true);
    pass(level);
    return level;
  }
  // A line written to its device and no copy left in caches: where it found its place
  // (Device::Written).
  template <typename Vector>
  unsigned write_through(std::uint64_t address) {
    wait_for_refresh();
    const Place place = place_of(address);
    const auto written = devices_[place.device].template write<Vector>(place.address, now_);
    now_ = reached_ = written.accepted;
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
  // A batch of loads and stores, level after level: each level sees what it would see one by one,
  // in the same order. Time passes as the sum of all latencies; stalls in time fall where the
  // devices are reached. Adds to `found` where each was found.
  template <typename Vector>
  void batch(std::size_t count, std::uint64_t* found) {
    Request* in = requests_[0].data();
    Request* out = requests_[1].data();
    const auto caches = static_cast<unsigned>(caches_.size());
    std::size_t fetches = count;
    double cached_ns = 0;
    for (unsigned i = 0; i < caches; ++i) {
      const std::size_t asked = caches_[i].template pass<Vector>(in, count, out, i == 0);
      std::size_t missed = 0;
      for (std::size_t k = 0; k < asked; ++k) missed += out[k].kind == Request::load ? 1 : 0;
      found[i] += fetches - missed;
      cached_ns += static_cast<double>(fetches - missed) * read_[i].count;
      fetches = missed;
      count = asked;
      std::swap(in, out);
    }
    for (std::size_t k = 0; k < count; ++k) {
      if (in[k].kind == Request::write_back) {
        leave_caches<Vector>(in[k].line);
        continue;
      }
      const unsigned level = caches + fetch<Vector>(in[k].line);
      ++found[level];
      pass(level);
    }
    now_.count += cached_ns;
  }
  // Where a batch of up to `most_batch` is put; room for what caches add behind it.
  [[nodiscard]] Request* requests() { return requests_[0].data(); }
  static constexpr std::size_t most_batch = 512;

  [[nodiscard]] std::uint64_t media_writes() const;
  [[nodiscard]] std::uint64_t wear_stalls() const;
  [[nodiscard]] std::uint64_t refresh_stalls() const { return refresh_stalls_; }
  [[nodiscard]] std::uint64_t written_back() const { return written_back_; }

 private:
  __extension__ using Wide = unsigned __int128;
  struct Place {
    std::uint32_t device;
    std::uint64_t address;
  };
  [[nodiscard]] Place place_of(std::uint64_t address) const {
    if (devices_.size() == 1) return {0, address};
    const std::uint64_t unit = address >> granularity_log2_;
    // Lemire's division by a number known beforehand, exact for units below 2^32.
    const auto row = static_cast<std::uint64_t>((static_cast<Wide>(reciprocal_) * unit) >> 64U);
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
      const Looked looked = caches_[i].template access<Vector>(line, write && i == 0);
      if (looked.evicted_dirty()) write_back<Vector>(i + 1, looked.evicted_block());
      if (looked.hit) return i;
    }
    return count + fetch<Vector>(line);
  }
  // Of a line that no cache holds: 0 the near memory if there is one, then buffers and medium.
  template <typename Vector>
  unsigned fetch(std::uint32_t line) {
    if (!near_.empty()) {
      const Looked looked = near_[0].access(line, false);
      if (looked.evicted_dirty()) post<Vector>(looked.evicted_block());
      if (looked.hit) return 0;
    }
    const Place place = place_of(std::uint64_t{line} << 6U);
    return static_cast<unsigned>(near_.size()) +
           devices_[place.device].template read<Vector>(place.address);
  }
  // Not inlined: streams of loads never come here, and the loop over them has to stay short.
  template <typename Vector>
  [[gnu::noinline]] void write_back(unsigned level, std::uint32_t line) {
    for (; level < caches_.size(); ++level) {
      const Looked looked = caches_[level].access<Vector>(line, true);
      if (!looked.evicted_dirty()) return;
      line = looked.evicted_block();
    }
    leave_caches<Vector>(line);
  }
  template <typename Vector>
  [[gnu::noinline]] void leave_caches(std::uint32_t line) {
    ++written_back_;
    if (!near_.empty()) {
      const Looked looked = near_[0].access(line, true);
      if (!looked.evicted_dirty()) return;
      line = looked.evicted_block();
    }
    post<Vector>(line);
  }
  // A line goes to its device: whoever made it leave waits only if the queue is full.
  template <typename Vector>
  [[gnu::noinline]] void post(std::uint32_t line) {
    const Place place = place_of(std::uint64_t{line} << 6U);
    const auto written = devices_[place.device].template write<Vector>(place.address, now_);
    if (written.accepted.count - now_.count > accept_.count) now_ = written.accepted;
  }

  // A refresh stops devices: what a cache serves does not wait for it.
  void pass(unsigned level) {
    if (level < caches_.size()) {
      now_ = now_ + read_[level];
      return;
    }
    wait_for_refresh();
    now_ = reached_ = now_ + read_[level];
  }
  void wait_for_refresh() {
    if (refresh_.period.count <= 0 || now_ < next_refresh_) return;
    refreshed();
  }
  void refreshed();

  std::vector<Blocks> caches_;
  std::vector<DirectMapped> near_;  // one, or none
  std::vector<Device> devices_;
  std::vector<Blocks> tlb_;  // one, or none
  std::vector<Nanoseconds> read_;
  unsigned granularity_log2_;
  std::uint64_t reciprocal_;  // of the number of devices, times 2^64
  Nanoseconds accept_;
  Nanoseconds walk_;
  RefreshParameters refresh_;
  Nanoseconds now_;
  Nanoseconds next_refresh_;
  Nanoseconds reached_;  // when the last access to a device ended
  std::uint64_t refresh_stalls_ = 0;
  std::uint64_t written_back_ = 0;
  std::array<std::vector<Request>, 2> requests_;
};

}  // namespace nearfar::sim
