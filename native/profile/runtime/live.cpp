#include "profile/runtime/live.hpp"

#include "profile/runtime/locks.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

std::uint32_t lock_word = 0;
std::uint64_t next_sample_ns = 0;
std::uint64_t interval_ns = 0;
std::int64_t next_snapshot = 0;

// The composition of the peak is recorded each time the total has grown by 1 % plus this many
// bytes. So it is known within 1 %, at a cost that does not depend on how memory grows.
constexpr std::int64_t min_growth = 64 << 10;

std::uint64_t since_start_ns() {
  return clock_ns(CLOCK_MONOTONIC) - runtime.control->start_wall_ns;
}

void snapshot_peak() {
  const std::uint32_t used = runtime.sites.used();
  for (std::uint32_t i = 0; i < used; ++i) {
    SiteRecord& site = runtime.sites[i];
    site.bytes_at_peak = __atomic_load_n(&site.live_bytes, __ATOMIC_RELAXED);
  }
}

// Keeps the sites with the most bytes: a new site replaces the smallest one.
void fill_sample(LiveRecord& sample) {
  const std::uint32_t used = runtime.sites.used();
  std::uint32_t smallest = 0;
  for (std::uint32_t i = 0; i < used; ++i) {
    const std::int64_t bytes = __atomic_load_n(&runtime.sites[i].live_bytes, __ATOMIC_RELAXED);
    if (bytes <= 0) continue;
    if (sample.count < sites_per_sample) {
      sample.sites[sample.count++] = {i, 0, bytes};
    } else if (bytes > sample.sites[smallest].bytes) {
      sample.sites[smallest] = {i, 0, bytes};
    } else {
      continue;
    }
    if (sample.count == sites_per_sample) {
      smallest = 0;
      for (std::uint32_t k = 1; k < sites_per_sample; ++k) {
        if (sample.sites[k].bytes < sample.sites[smallest].bytes) smallest = k;
      }
    }
  }
}

void halve(LiveRecord* samples, Table& table) {
  for (std::uint32_t i = 0; i < table.used / 2; ++i) samples[i] = samples[i * 2ul];
  table.used /= 2;
}

}  // namespace

void record_peak(std::int64_t total_bytes) {
  runtime.header->peak_bytes = total_bytes;
  if (total_bytes < next_snapshot) return;
  Lock const lock(lock_word, thread_id());
  next_snapshot = total_bytes + total_bytes / 100 + min_growth;
  snapshot_peak();
}

void sample_live() {
  const std::uint64_t now = since_start_ns();
  if (now < __atomic_load_n(&next_sample_ns, __ATOMIC_RELAXED)) return;
  Lock const lock(lock_word, thread_id());
  if (now < next_sample_ns) return;
  if (interval_ns == 0) interval_ns = std::uint64_t{runtime.control->live_interval_us} * 1000;
  Table& table = runtime.header->live;
  auto* samples = records<LiveRecord>(*runtime.header, table);
  if (table.used == table.capacity) {
    halve(samples, table);
    interval_ns *= 2;
  }
  LiveRecord& sample = samples[table.used];
  sample.time_ns = now;
  sample.phase = nf_current_phase();
  sample.count = 0;
  sample.total_bytes = runtime.header->live_bytes;
  fill_sample(sample);
  __atomic_store_n(&table.used, table.used + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&next_sample_ns, now + interval_ns, __ATOMIC_RELAXED);
}

void restart_live() {
  lock_word = 0;
  next_sample_ns = 0;
}

}  // namespace nearfar::profile
