// A simulated memory: caches, TLB, near memory and devices, with their time.
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
  // Throws std::invalid_argument for impossible parameters.
  explicit Memory(const Parameters& parameters);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;
  ~Memory() = default;

  [[nodiscard]] Nanoseconds now() const { return now_; }
  void rest(Nanoseconds length) { now_ = now_ + length; }
  [[nodiscard]] unsigned levels() const { return static_cast<unsigned>(read_.size()); }

  // Loads the line at `address`, lets its time advance and returns the level that held it (caches,
  // buffers, medium, in this order).
  template <typename Vector>
  unsigned load(std::uint64_t address) {
    const unsigned level = find<Vector>(address, false);
    advance(level);
    return level;
  }
  // Stores through the caches: fetches the line and writes back dirty evicted lines.
  template <typename Vector>
  unsigned store(std::uint64_t address) {
    const unsigned level = find<Vector>(address, true);
    advance(level);
    return level;
  }
  // Writes a line to its device, bypassing the caches; returns Device::Written::level.
  template <typename Vector>
  unsigned write_through(std::uint64_t address) {
    wait_for_refresh();
    const Place place = place_of(address);
    const auto written = devices_[place.device].template write<Vector>(place.address, now_);
    now_ = device_free_ = written.accepted;
    return written.level;
  }
  // Begins a write that the device counts for wear.
  void begin_write(std::uint64_t address) {
    const Place place = place_of(address);
    now_ = now_ + devices_[place.device].wear(place.address, now_);
  }
  // Looks the page up in the TLB; returns false after a page walk.
  template <typename Vector>
  bool translate(std::uint32_t page) {
    if (tlb_.empty() || tlb_[0].access<Vector>(page, false).hit) return true;
    now_ = now_ + walk_;
    return false;
  }
  // Runs a batch of loads and stores, one level after another: each level sees the same requests in
  // the same order as if they ran one by one. Time advances by the sum of latencies; stalls occur
  // where devices are accessed. Adds the accesses by level to `accesses_by_level`. `stores`: the
  // batch may hold stores.
  template <typename Vector>
  void batch(std::size_t count, bool stores, std::uint64_t* accesses_by_level) {
    std::uint32_t* in = requests_[0].data();
    std::uint32_t* out = requests_[1].data();
    const auto caches = static_cast<unsigned>(caches_.size());
    std::size_t fetches = count;
    double cached_ns = 0;
    if (caches == 0) {
      for (std::size_t k = 0; k < count; ++k) in[k] &= ~1U;  // a store fetches its line too
    }
    for (unsigned i = 0; i < caches; ++i) {
      const Blocks::Passed passed =
          caches_[i].template pass<Vector>(in, count, out, i == 0, stores);
      accesses_by_level[i] += fetches - passed.fetches;
      cached_ns += static_cast<double>(fetches - passed.fetches) * read_[i].count;
      fetches = passed.fetches;
      count = passed.requests;
      stores = count != fetches;
      std::swap(in, out);
    }
    if (count == fetches && near_.empty()) {
      fetch_batch<Vector>(in, count, accesses_by_level);
    } else {
      serve<Vector>(in, count, accesses_by_level);
    }
    now_.count += cached_ns;
  }
  // Memory for a batch of up to `max_batch` requests and the requests that caches add.
  [[nodiscard]] std::uint32_t* requests() { return requests_[0].data(); }
  static constexpr std::size_t max_batch = 512;

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
    if (device_count_ == 1) return {0, address};
    const std::uint64_t unit = address >> granularity_log2_;
    // Lemire's division by a precomputed reciprocal, exact for units below 2^32.
    const auto row = static_cast<std::uint64_t>((static_cast<Wide>(reciprocal_) * unit) >> 64U);
    const std::uint64_t offset = address & ((std::uint64_t{1} << granularity_log2_) - 1);
    return {static_cast<std::uint32_t>(unit - row * device_count_),
            row << granularity_log2_ | offset};
  }

  template <typename Vector>
  unsigned find(std::uint64_t address, bool write) {
    const auto line = static_cast<std::uint32_t>(address >> 6U);
    const auto count = static_cast<unsigned>(caches_.size());
    for (unsigned i = 0; i < count; ++i) {
      // Only the first cache sees the store; the next ones see the write-back.
      const LookupResult result = caches_[i].template access<Vector>(line, write && i == 0);
      if (result.evicted_dirty()) write_back<Vector>(i + 1, result.evicted_block());
      if (result.hit) return i;
    }
    return count + fetch<Vector>(line);
  }
  // Handles the requests of the last cache, one by one.
  template <typename Vector>
  void serve(const std::uint32_t* requests, std::size_t count, std::uint64_t* accesses_by_level) {
    for (std::size_t k = 0; k < count; ++k) {
      // Beyond the end of the input this prefetches arbitrary rows, which does no harm.
      const std::uint64_t next = requests[k + Blocks::prefetch_distance] >> 1U;
      const Place place = place_of(next << 6U);
      devices_[place.device].prefetch(place.address);
      const std::uint32_t line = requests[k] >> 1U;
      if ((requests[k] & 1U) != 0) {
        evict_from_caches<Vector>(line);
        continue;
      }
      const unsigned level = static_cast<unsigned>(caches_.size()) + fetch<Vector>(line);
      ++accesses_by_level[level];
      advance(level);
    }
  }
  // Does the same where nothing is written and there is no near memory, one device after another:
  // what a device holds then does not depend on time.
  template <typename Vector>
  void fetch_batch(const std::uint32_t* requests, std::size_t count,
                   std::uint64_t* accesses_by_level) {
    Device::Read* const reads = reads_.data();
    Device::Read** const ends = ends_.data();
    for (std::size_t i = 0; i < device_count_; ++i) ends[i] = reads + i * reads_each;
    for (std::size_t k = 0; k < count; ++k) {
      const Place place = place_of(std::uint64_t{requests[k] >> 1U} << 6U);
      *ends[place.device]++ = {static_cast<std::uint32_t>(place.address >> 6U),
                               static_cast<std::uint32_t>(k)};
    }
    const std::size_t caches = caches_.size();
    for (std::size_t i = 0; i < device_count_; ++i) {
      Device::Read* const begin = reads + i * reads_each;
      dispatch<Device::ReadBatch>(Vector::isa, devices_[i], begin,
                                  static_cast<std::size_t>(ends[i] - begin), levels_.data(),
                                  accesses_by_level + caches);
    }
    const Nanoseconds* const latencies = read_.data() + caches;
    const std::uint8_t* const levels = levels_.data();
    if (refresh_.period.count > 0) {
      for (std::size_t k = 0; k < count; ++k) advance(static_cast<unsigned>(caches) + levels[k]);
      return;
    }
    Nanoseconds now = now_;
    for (std::size_t k = 0; k < count; ++k) now = now + latencies[levels[k]];
    if (count > 0) now_ = device_free_ = now;
  }
  // Fetches a line that no cache holds. Returns its level: 0 for the near memory if there is one,
  // then buffers and medium.
  template <typename Vector>
  unsigned fetch(std::uint32_t line) {
    if (!near_.empty()) {
      const LookupResult result = near_[0].access(line, false);
      if (result.evicted_dirty()) post<Vector>(result.evicted_block());
      if (result.hit) return 0;
    }
    const Place place = place_of(std::uint64_t{line} << 6U);
    return static_cast<unsigned>(near_.size()) +
           devices_[place.device].template read<Vector>(place.address);
  }
  // Not inlined, to keep the loop over loads short: loads alone never write back.
  template <typename Vector>
  [[gnu::noinline]] void write_back(unsigned level, std::uint32_t line) {
    for (; level < caches_.size(); ++level) {
      const LookupResult result = caches_[level].access<Vector>(line, true);
      if (!result.evicted_dirty()) return;
      line = result.evicted_block();
    }
    evict_from_caches<Vector>(line);
  }
  template <typename Vector>
  [[gnu::noinline]] void evict_from_caches(std::uint32_t line) {
    ++written_back_;
    if (!near_.empty()) {
      const LookupResult result = near_[0].access(line, true);
      if (!result.evicted_dirty()) return;
      line = result.evicted_block();
    }
    post<Vector>(line);
  }
  // Writes a line to its device; the request that caused this waits only if the queue is full.
  template <typename Vector>
  [[gnu::noinline]] void post(std::uint32_t line) {
    const Place place = place_of(std::uint64_t{line} << 6U);
    const auto written = devices_[place.device].template write<Vector>(place.address, now_);
    if (written.accepted.count - now_.count > accept_.count) now_ = written.accepted;
  }

  // Advances time by a read from `level`. Refreshes delay only reads from devices.
  void advance(unsigned level) {
    if (level < caches_.size()) {
      now_ = now_ + read_[level];
      return;
    }
    wait_for_refresh();
    now_ = device_free_ = now_ + read_[level];
  }
  void wait_for_refresh() {
    if (refresh_.period.count <= 0 || now_ < next_refresh_) return;
    apply_refresh();
  }
  void apply_refresh();

  std::vector<Blocks> caches_;
  std::vector<DirectMapped> near_;  // one, or none
  std::vector<Device> devices_;
  std::uint64_t device_count_;
  std::vector<Blocks> tlb_;  // one, or none
  std::vector<Nanoseconds> read_;
  unsigned granularity_log2_;
  std::uint64_t reciprocal_;  // 2^64 over the number of devices
  Nanoseconds accept_;
  Nanoseconds walk_;
  RefreshParameters refresh_;
  Nanoseconds now_;
  Nanoseconds next_refresh_;
  Nanoseconds device_free_;  // end of the last access to a device
  std::uint64_t refresh_stalls_ = 0;
  std::uint64_t written_back_ = 0;
  std::array<std::vector<std::uint32_t>, 2> requests_;
  // Scratch of fetch_batch: reads of each device, their end, and the level of each request.
  static constexpr std::size_t reads_each = max_batch + Blocks::prefetch_distance;
  std::vector<Device::Read> reads_;
  std::vector<Device::Read*> ends_;
  std::vector<std::uint8_t> levels_;
};

}  // namespace nearfar::sim
