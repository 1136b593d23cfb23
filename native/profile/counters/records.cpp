#include "profile/counters/records.hpp"

#include <linux/perf_event.h>

#include <bit>
#include <cstring>

namespace nearfar::profile {

namespace {

constexpr std::uint64_t readable =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
    PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
    PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
    PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC;
// Fields that follow all required ones.
constexpr std::uint64_t trailing = PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |
                                   PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_AUX | PERF_SAMPLE_CGROUP |
                                   PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;
// In linux/perf_event.h since 6.0.
constexpr std::uint64_t format_lost = 1u << 4;

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T take() {
    T value{};
    if (bytes_.size() < sizeof value) {
      truncated_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  void skip(std::uint64_t bytes) {
    if (bytes > bytes_.size()) {
      truncated_ = true;
      return;
    }
    bytes_ = bytes_.subspan(static_cast<std::size_t>(bytes));
  }
  // The count comes from the record and may be invalid.
  void skip_words(std::uint64_t count) {
    if (count > bytes_.size() / sizeof(std::uint64_t)) {
      truncated_ = true;
      return;
    }
    skip(count * sizeof(std::uint64_t));
  }
  bool is_truncated() const { return truncated_; }

 private:
  std::span<const std::byte> bytes_;
  bool truncated_ = false;
};

void skip_read_values(Reader& reader, std::uint64_t read_format) {
  const std::uint64_t group = read_format & PERF_FORMAT_GROUP;
  const int fields_per_event = std::popcount(read_format & (PERF_FORMAT_ID | format_lost));
  const int times = std::popcount(
      read_format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
  const std::uint64_t words_per_event = 1 + static_cast<std::uint64_t>(fields_per_event);
  const std::uint64_t events = group != 0 ? reader.take<std::uint64_t>() : 1;
  reader.skip_words(static_cast<std::uint64_t>(times));
  // The kernel has no groups of 2^16 events; an invalid count must not overflow.
  reader.skip_words(events < (1u << 16) ? events * words_per_event : UINT64_MAX);
}

constexpr std::uint64_t bits(std::uint64_t value, unsigned shift, unsigned count) {
  return value >> shift & ((1ull << count) - 1);
}

}  // namespace

bool can_decode(std::uint64_t sample_type) { return (sample_type & ~(readable | trailing)) == 0; }

bool decode_sample(std::span<const std::byte> body, std::uint64_t sample_type,
                   std::uint64_t read_format, PerfSample& sample) {
  sample = {};
  Reader reader(body);
  const auto has = [&](std::uint64_t field) { return (sample_type & field) != 0; };
  if (has(PERF_SAMPLE_IDENTIFIER)) sample.id = reader.take<std::uint64_t>();
  if (has(PERF_SAMPLE_IP)) sample.instruction = reader.take<std::uint64_t>();
  if (has(PERF_SAMPLE_TID)) {
    sample.process = reader.take<std::uint32_t>();
    sample.thread = reader.take<std::uint32_t>();
  }
  if (has(PERF_SAMPLE_TIME)) sample.time_ns = reader.take<std::uint64_t>();
  if (has(PERF_SAMPLE_ADDR)) sample.address = reader.take<std::uint64_t>();
  if (has(PERF_SAMPLE_ID)) sample.id = reader.take<std::uint64_t>();
  if (has(PERF_SAMPLE_STREAM_ID)) reader.skip_words(1);
  if (has(PERF_SAMPLE_CPU)) reader.skip_words(1);
  if (has(PERF_SAMPLE_PERIOD)) sample.events = reader.take<std::uint64_t>();
  if (has(PERF_SAMPLE_READ)) skip_read_values(reader, read_format);
  if (has(PERF_SAMPLE_CALLCHAIN)) reader.skip_words(reader.take<std::uint64_t>());
  if (has(PERF_SAMPLE_RAW)) reader.skip(reader.take<std::uint32_t>());
  // The low half of WEIGHT_STRUCT is the latency; the kernel writes only one of both fields.
  if (has(PERF_SAMPLE_WEIGHT)) {
    sample.weight_cycles = reader.take<std::uint64_t>();
  } else if (has(PERF_SAMPLE_WEIGHT_STRUCT)) {
    sample.weight_cycles = reader.take<std::uint64_t>() & UINT32_MAX;
  }
  if (has(PERF_SAMPLE_DATA_SRC)) sample.data_source = reader.take<std::uint64_t>();
  return !reader.is_truncated();
}

std::size_t decode_records(std::span<const std::byte> bytes, std::uint64_t sample_type,
                           std::uint64_t read_format, PerfTally& tally, OnSample on_sample,
                           void* data) {
  std::size_t done = 0;
  perf_event_header header{};
  while (bytes.size() - done >= sizeof header) {
    std::memcpy(&header, bytes.data() + done, sizeof header);
    if (header.size < sizeof header || header.size % 8 != 0) {
      tally.broken += bytes.size() - done;
      return bytes.size();
    }
    if (bytes.size() - done < header.size) break;
    const auto body = bytes.subspan(done + sizeof header, header.size - sizeof header);
    done += header.size;
    Reader reader(body);
    PerfSample sample{};
    switch (header.type) {
      case PERF_RECORD_SAMPLE:
        if (!decode_sample(body, sample_type, read_format, sample)) {
          tally.broken += header.size;
          break;
        }
        ++tally.samples;
        on_sample(sample, data);
        break;
      case PERF_RECORD_LOST:
        reader.skip_words(1);  // the event's ID
        tally.lost += reader.take<std::uint64_t>();
        break;
      case PERF_RECORD_LOST_SAMPLES:
        tally.lost += reader.take<std::uint64_t>();
        break;
      case PERF_RECORD_THROTTLE:
        ++tally.throttled;
        break;
      default:
        ++tally.others;
    }
  }
  return done;
}

// Uses shifts, because bit fields of the header's union depend on the compiler.
bool is_store(std::uint64_t data_source) {
  return (bits(data_source, PERF_MEM_OP_SHIFT, 5) & PERF_MEM_OP_STORE) != 0;
}

bool is_memory_access(std::uint64_t data_source) {
  return (bits(data_source, PERF_MEM_OP_SHIFT, 5) & (PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE)) != 0;
}

bool missed_last_level(std::uint64_t data_source) {
  if (!is_memory_access(data_source)) return false;
  const std::uint64_t level = bits(data_source, PERF_MEM_LVLNUM_SHIFT, 4);
  const std::uint64_t remote = bits(data_source, PERF_MEM_REMOTE_SHIFT, 1);
  constexpr std::uint64_t cxl = 0x09;  // since Linux 6.1
  switch (level) {
    case PERF_MEM_LVLNUM_RAM:
    case PERF_MEM_LVLNUM_PMEM:
    case cxl:
      return true;
    case PERF_MEM_LVLNUM_L3:
    case PERF_MEM_LVLNUM_L4:
    case PERF_MEM_LVLNUM_ANY_CACHE:
      return remote != 0;
    default:
      break;
  }
  // Field of older kernels: levels as a set of bits.
  const std::uint64_t levels = bits(data_source, PERF_MEM_LVL_SHIFT, 14);
  constexpr std::uint64_t beyond_last_level = PERF_MEM_LVL_LOC_RAM | PERF_MEM_LVL_REM_RAM1 |
                                              PERF_MEM_LVL_REM_RAM2 | PERF_MEM_LVL_REM_CCE1 |
                                              PERF_MEM_LVL_REM_CCE2;
  if ((levels & beyond_last_level) != 0) return true;
  return (levels & PERF_MEM_LVL_L3) != 0 && (levels & PERF_MEM_LVL_MISS) != 0;
}

double scaled_count(std::uint64_t value, std::uint64_t enabled_ns, std::uint64_t running_ns) {
  if (running_ns == 0) return -1.0;
  if (running_ns >= enabled_ns) return static_cast<double>(value);
  return static_cast<double>(value) * static_cast<double>(enabled_ns) /
         static_cast<double>(running_ns);
}

}  // namespace nearfar::profile
