#include "sim/device/memory.hpp"

#include <cmath>
#include <stdexcept>

namespace nearfar::sim {
namespace {

constexpr std::uint32_t tlb_ways = 8;

}  // namespace

Memory::Memory(const Parameters& parameters)
    : device_count_(parameters.devices),
      granularity_log2_(parameters.granularity_log2),
      reciprocal_(parameters.devices > 1 ? ~std::uint64_t{0} / parameters.devices + 1 : 0),
      accept_(parameters.queue.accept),
      walk_(parameters.tlb.walk),
      refresh_(parameters.refresh),
      next_refresh_(parameters.refresh.period) {
  if (parameters.devices == 0) throw std::invalid_argument("a memory needs at least one device");
  for (const Level& level : parameters.buffers) {
    if (level.block_log2 < 6 || level.block_log2 > 12) {
      throw std::invalid_argument("a buffer's blocks must be 64 B to 4 KiB");
    }
  }
  for (const Level& level : parameters.caches) {
    if (level.block_log2 != 6) throw std::invalid_argument("a cache's blocks must be 64 B lines");
    caches_.emplace_back(level.shape, parameters.seed);
    read_.push_back(level.read);
  }
  if (parameters.near_capacity.count > 0) {
    near_.emplace_back(parameters.near_capacity);
    read_.push_back(parameters.near_read);
  }
  for (const Level& level : parameters.buffers) read_.push_back(level.read);
  read_.push_back(parameters.media_read);
  // Each cache may turn one request into two.
  const std::size_t most = max_batch << parameters.caches.size();
  for (auto& requests : requests_) requests.resize(most + Blocks::prefetch_distance);
  levels_.resize(max_batch);
  reads_.resize(parameters.devices * reads_each);
  ends_.resize(parameters.devices);
  for (std::uint32_t i = 0; i < parameters.devices; ++i) {
    devices_.emplace_back(parameters, parameters.seed + 16 * (std::uint64_t{i} + 1));
  }
  if (parameters.tlb.entries > 0) {
    const std::uint32_t sets = (parameters.tlb.entries + tlb_ways - 1) / tlb_ways;
    tlb_.emplace_back(Shape{.sets = sets, .ways = tlb_ways, .replacement = Replacement::lru});
  }
}

std::uint64_t Memory::media_writes() const {
  std::uint64_t sum = 0;
  for (const Device& device : devices_) sum += device.media_writes();
  return sum;
}

std::uint64_t Memory::wear_stalls() const {
  std::uint64_t sum = 0;
  for (const Device& device : devices_) sum += device.wear_stalls();
  return sum;
}

void Memory::apply_refresh() {
  const double period = refresh_.period.count;
  // Only the last refresh can delay this access; earlier ones fell into rests or cache hits.
  const double begin = std::floor(now_.count / period) * period;
  const double end = begin + refresh_.length.count;
  if (begin > 0 && now_.count < end) {
    now_ = {end};
    ++refresh_stalls_;
  } else if (begin > 0 && next_refresh_.count <= begin && begin < device_free_.count) {
    // The refresh began during the previous access, which pays for it.
    now_ = now_ + refresh_.length;
    ++refresh_stalls_;
  }
  next_refresh_ = {begin + period};
}

}  // namespace nearfar::sim
