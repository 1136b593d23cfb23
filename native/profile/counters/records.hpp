// Parser of a perf event's ring (include/uapi/linux/perf_event.h).
//
// Its input is bytes, so it is tested on files with such rings, and on software events. It has
// never been run on records of a processor with PEBS or IBS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfar::profile {

// A sample; fields that the event does not request are 0.
struct PerfSample {
  std::uint64_t instruction;
  std::uint32_t process;
  std::uint32_t thread;
  std::uint64_t time_ns;
  std::uint64_t address;
  std::uint64_t id;
  std::uint64_t events;  // events that the sample represents: its period
  std::uint64_t weight_cycles;
  std::uint64_t data_source;
};

// Number of samples and of other records.
struct PerfTally {
  std::uint64_t samples;
  std::uint64_t lost;       // samples that did not fit into the ring
  std::uint64_t throttled;  // times that the kernel throttled an event
  std::uint64_t others;     // records of other kinds
  std::uint64_t broken;     // bytes of invalid records and truncated samples
};

// Whether samples with these fields can be read. Fields of variable length before the required ones
// (branches, registers, stacks) are not supported.
bool can_decode(std::uint64_t sample_type);

// Reads a sample's body, after its header; returns false if it is truncated.
bool decode_sample(std::span<const std::byte> body, std::uint64_t sample_type,
                   std::uint64_t read_format, PerfSample& sample);

// Reads complete records from the start of `bytes` and calls `on_sample(sample, data)` for each
// sample. Returns the number of bytes read; the rest is the beginning of a record, or invalid.
using OnSample = void (*)(const PerfSample& sample, void* data);
std::size_t decode_records(std::span<const std::byte> bytes, std::uint64_t sample_type,
                           std::uint64_t read_format, PerfTally& tally, OnSample on_sample,
                           void* data);

// Contents of PERF_SAMPLE_DATA_SRC.
bool is_store(std::uint64_t data_source);
bool is_memory_access(std::uint64_t data_source);
// Whether the line came from beyond this socket's last-level cache: from memory or from another
// socket's cache. A line that is already being fetched (LFB) belongs to the miss of the first
// request.
bool missed_last_level(std::uint64_t data_source);

// Scales a counter's value to the whole time: with more events than counters, events take turns.
// Returns a negative value if it never counted.
double scaled_count(std::uint64_t value, std::uint64_t enabled_ns, std::uint64_t running_ns);

}  // namespace nearfar::profile
