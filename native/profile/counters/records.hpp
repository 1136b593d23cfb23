// What the kernel writes into a perf event's ring, taken apart: include/uapi/linux/perf_event.h.
//
// Only bytes go in, so it is tested on files that hold such rings. It was never run on what a
// processor with PEBS or IBS wrote; what the kernel writes of software events it reads here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nearfar::profile {

// One sample; fields that the event does not ask for are 0.
struct PerfSample {
  std::uint64_t instruction;
  std::uint32_t process;
  std::uint32_t thread;
  std::uint64_t time_ns;
  std::uint64_t address;
  std::uint64_t id;
  std::uint64_t events;  // that it stands for: its period
  std::uint64_t weight_cycles;
  std::uint64_t data_source;
};

// What was found besides samples.
struct PerfTally {
  std::uint64_t samples;
  std::uint64_t lost;       // samples that did not fit into the ring
  std::uint64_t throttled;  // times that the kernel stopped the event for coming too often
  std::uint64_t others;     // records of other kinds, passed over
  std::uint64_t broken;     // bytes that are no record, or a sample shorter than its fields
};

// Whether samples with these fields can be read: those of variable length that stand before what is
// wanted (branches, registers, stacks) cannot.
bool can_decode(std::uint64_t sample_type);

// Reads one sample's body, behind its header; false if it is shorter than its fields.
bool decode_sample(std::span<const std::byte> body, std::uint64_t sample_type,
                   std::uint64_t read_format, PerfSample& sample);

// Reads whole records from the start of `bytes` and calls `found(sample, data)` for each sample;
// returns how many bytes they had. What follows is the beginning of a record, or broken.
using OnSample = void (*)(const PerfSample& sample, void* data);
std::size_t decode_records(std::span<const std::byte> bytes, std::uint64_t sample_type,
                           std::uint64_t read_format, PerfTally& tally, OnSample found, void* data);

// What PERF_SAMPLE_DATA_SRC says.
bool is_store(std::uint64_t data_source);
bool is_memory_access(std::uint64_t data_source);
// The line came from beyond this socket's last-level cache: memory, or another socket's cache. A
// line that was already on its way (LFB) is the miss of whoever asked first.
bool missed_last_level(std::uint64_t data_source);

// A counter's value had it been on all the time: it takes turns with others when there are more
// than the processor has room for. Negative if it never was on.
double scaled_count(std::uint64_t value, std::uint64_t enabled_ns, std::uint64_t running_ns);

}  // namespace nearfar::profile
