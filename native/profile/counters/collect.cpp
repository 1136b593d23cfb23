#include "profile/counters/collect.hpp"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "profile/counters/counters.h"
#include "profile/counters/records.hpp"
#include "profile/counters/sampled_ring.hpp"
#include "profile/qemu/replay/instructions.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

namespace {

struct Counter {
  int descriptor;
  nf_perf_count last;
};

std::vector<Counter> counters;
std::vector<int> descriptors;
std::vector<SampledRing> rings;
std::vector<std::byte> copy;
std::vector<PerfSample> pending;  // samples that were read but not attributed yet; ordered by time
std::uint64_t sample_type = 0;
int instructions_index = -1;
PerfTally tally;
nf_perf_facts facts;
bool attributing = true;

// The kernel fills it: PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING.
bool read_count(int descriptor, nf_perf_count& count) {
  return read(descriptor, &count, sizeof count) == sizeof count;
}

// On x86-64 with four levels of page tables, user space ends here, and so do the profiler's tables.
constexpr std::uint64_t user_end = 1ull << 47;

void count(const PerfSample& sample) {
  if (!attributing) return;
  const bool has_source = (sample_type & PERF_SAMPLE_DATA_SRC) != 0;
  // Processors that sample any instruction (IBS) also sample instructions without memory access.
  if (has_source && !is_memory_access(sample.data_source)) return;
  if (sample.address == 0 || sample.address >= user_end) return;
  if (sample.process != static_cast<std::uint32_t>(runtime.control->target_pid)) {
    ++facts.of_others;
    return;
  }
  ++facts.addressed;
  const bool missed = !has_source || missed_last_level(sample.data_source);
  const bool store = has_source && is_store(sample.data_source);
  const std::uint64_t events = sample.events == 0 ? 1 : sample.events;
  count_sample({sample.address, sample.instruction, sample.instruction, store, 8}, missed, events);
}

void keep(const PerfSample& sample, void*) { pending.push_back(sample); }

}  // namespace

bool counts_natively() { return !counters.empty() || !rings.empty(); }

void read_samples() {
  bool any = false;
  for (SampledRing& ring : rings) {
    any |= ring.drain(copy, [](std::span<const std::byte> bytes) {
      return decode_records(bytes, sample_type, 0, tally, keep, nullptr);
    });
  }
  // Each ring is ordered by itself, but the rings together are not.
  if (any) std::ranges::stable_sort(pending, {}, &PerfSample::time_ns);
}

void count_samples_until(std::uint64_t time_ns) {
  std::size_t done = 0;
  for (; done < pending.size() && pending[done].time_ns <= time_ns; ++done) count(pending[done]);
  pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(done));
}

std::uint64_t read_counters(std::uint32_t phase, bool wanted) {
  attributing = wanted;
  std::uint64_t instructions = 0;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    nf_perf_count now{};
    if (!read_count(counters[i].descriptor, now)) continue;
    nf_perf_count& last = counters[i].last;
    if (wanted) {
      nf_perf_count& sum = facts.counts[phase % NF_COUNTED_PHASES][i];
      sum.value += now.value - last.value;
      sum.enabled_ns += now.enabled_ns - last.enabled_ns;
      sum.running_ns += now.running_ns - last.running_ns;
    }
    last = now;
    if (static_cast<int>(i) == instructions_index) {
      const double scaled = scaled_count(now.value, now.enabled_ns, now.running_ns);
      instructions = scaled > 0 ? static_cast<std::uint64_t>(scaled) : 0;
    }
  }
  return instructions;
}

void close_counters() {
  for (SampledRing& ring : rings) ring.unmap();
  for (const int descriptor : descriptors) close(descriptor);
  rings.clear();
  counters.clear();
  descriptors.clear();
  facts.samples = tally.samples;
  facts.lost = tally.lost;
  facts.throttled = tally.throttled;
  facts.broken = tally.broken;
}

void reset_counters() {
  close_counters();
  facts = {};
  tally = {};
  pending.clear();
  attributing = true;
  instructions_index = -1;
}

}  // namespace nearfar::profile

using namespace nearfar::profile;

int nf_perf_open(const nf_perf_event* event, std::int32_t cpu) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event->type;
  attr.config = event->config;
  attr.config1 = event->config1;
  attr.config2 = event->config2;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.disabled = 1;
  attr.inherit = 1;
  attr.enable_on_exec = 1;
  attr.exclude_kernel = event->with_kernel == 0;
  attr.exclude_hv = event->with_kernel == 0;
  attr.precise_ip = event->precise & 3;
  if (event->sample_type != 0) {
    attr.sample_type = event->sample_type;
    attr.freq = event->is_rate != 0;
    attr.sample_period = event->period;  // shares a union with sample_freq
    // The clock of the preloaded library's timestamps.
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
  }
  const long descriptor = syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
  return descriptor < 0 ? -errno : static_cast<int>(descriptor);
}

int nf_perf_attach(const std::int32_t* counted_files, std::uint32_t counted_count,
                   std::int32_t instructions, const std::int32_t* sampled,
                   std::uint32_t sampled_count, const nf_perf_event* sampled_event) {
  reset_counters();
  descriptors.assign(counted_files, counted_files + counted_count);
  descriptors.insert(descriptors.end(), sampled, sampled + sampled_count);
  if (counted_count > NF_COUNTED_EVENTS) return E2BIG;
  if (sampled_count != 0 && !can_decode(sampled_event->sample_type)) return EINVAL;
  for (std::uint32_t i = 0; i < counted_count; ++i) counters.push_back({counted_files[i], {}});
  instructions_index = instructions;
  for (std::uint32_t i = 0; i < sampled_count; ++i) {
    sample_type = sampled_event->sample_type;
    SampledRing ring;
    if (!ring.map(sampled[i])) {
      const int error = errno;
      close_counters();
      return error;
    }
    rings.push_back(ring);
  }
  return 0;
}

void nf_perf_read_facts(nf_perf_facts* wanted) { *wanted = facts; }

namespace {

struct WordBuffer {
  std::uint64_t* words;
  std::uint64_t max_count;
  std::uint64_t count;
};

void write_words(const PerfSample& sample, void* data) {
  auto& buffer = *static_cast<WordBuffer*>(data);
  if (buffer.count < buffer.max_count) {
    const std::uint64_t words[] = {
        sample.instruction,   sample.process,     sample.thread,
        sample.time_ns,       sample.address,     sample.events,
        sample.weight_cycles, sample.data_source, missed_last_level(sample.data_source)};
    memcpy(buffer.words + 9 * buffer.count, words, sizeof words);
  }
  ++buffer.count;
}

}  // namespace

std::int64_t nf_perf_decode(const void* bytes, std::uint64_t size, std::uint64_t type,
                            std::uint64_t read_format, std::uint64_t* words,
                            std::uint64_t max_count, std::uint64_t sums[5]) {
  if (!can_decode(type)) return -1;
  WordBuffer buffer{words, max_count, 0};
  PerfTally totals{};
  const std::span<const std::byte> all(static_cast<const std::byte*>(bytes),
                                       static_cast<std::size_t>(size));
  const std::size_t done = decode_records(all, type, read_format, totals, write_words, &buffer);
  const std::uint64_t written[] = {totals.samples, totals.lost, totals.throttled, totals.others,
                                   totals.broken + (size - done)};
  memcpy(sums, written, sizeof written);
  return static_cast<std::int64_t>(buffer.count);
}
