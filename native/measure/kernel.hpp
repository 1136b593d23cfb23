// A kernel: a loop over lines of memory that declares its traffic.
//
// To add one, write a file in kernels/ with a class and a NEARFAR_KERNEL line. The harness places,
// pins, warms up and times it, and converts time to ns per access or GB/s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "measure/isa/operations.hpp"
#include "measure/shape.hpp"

namespace nearfar::measure {

// Traffic of one iteration in whole lines, even if it touches one word of each. Bandwidths count
// the payload: read + written + non_temporal.
struct Traffic {
  Bytes read{};
  Bytes written{};               // ordinary stores
  Bytes non_temporal{};          // non-temporal stores
  Bytes owned{};                 // lines read for ownership before ordinary stores; not payload
  Bytes both{};                  // lines that are read and written
  Bytes flushed{};               // lines written back by a flush instruction
  double fences = 0;             // fences
  unsigned dependent_loads = 0;  // loads whose address is the previous load's value

  [[nodiscard]] constexpr Bytes stored() const { return written + non_temporal; }
  [[nodiscard]] constexpr Bytes payload() const { return read + stored(); }
  [[nodiscard]] constexpr Bytes touched() const { return payload() - both; }
  // Share of reads in the memory bus's traffic, 0 to 1.
  [[nodiscard]] constexpr double read_share() const {
    const auto in = static_cast<double>((read + owned).count);
    const auto out = static_cast<double>(stored().count);
    return in + out == 0 ? 0 : in / (in + out);
  }
};

// Memory and state of a kernel in one thread.
struct Lane {
  std::byte* base;                       // first line
  std::uint64_t lines;                   // number of lines that it may touch
  std::byte* target = nullptr;           // a second memory of this size, for kernels that copy
  const std::uint32_t* order = nullptr;  // order of linked lines; null: not linked
  std::uint64_t visits = 0;              // length of `order`
  unsigned link = 0;                     // word of each line that points at the next line
  std::uint64_t position = 0;  // completed iterations; the kernel continues there and adds its own
  std::uint64_t skipped = 0;   // steps of the scattered sequence that made no access
  unsigned chains = 1;         // independent chains
  Shape shape{};
  const Operations* operations = &measure::operations();

  [[nodiscard]] std::byte* line(std::uint64_t i) const { return base + i * cache_line.count; }
};

// Order in which a kernel follows links.
enum class Links : std::uint8_t { none, random, sequential };

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  // Traffic of one iteration: an access of `shape` (for chases, a line of it).
  [[nodiscard]] virtual Traffic traffic(const Shape& shape) const = 0;
  // Share of loads in the payload, 0 to 1, without traffic()'s rounding to bytes.
  [[nodiscard]] virtual double loads_over_payload(const Shape& shape) const;
  // The links it needs (Memory::link); the lane of such a kernel is the whole region.
  [[nodiscard]] virtual Links links() const { return Links::none; }
  // Maximum number of chains; 1: the kernel has no chains.
  [[nodiscard]] virtual unsigned max_chains() const { return 1; }
  // Whether it can write to a second memory (Lane::target).
  [[nodiscard]] virtual bool has_target() const { return false; }
  // The part of a memory in which each of its arrays has `array` bytes, one behind the other.
  [[nodiscard]] virtual Bytes part_for(Bytes array) const { return array; }
  // Why it cannot run here with these operations, as the end of "this processor ..."; empty if it
  // can.
  [[nodiscard]] virtual std::string missing(const Operations& /*operations*/) const { return {}; }

  // Runs `iterations` iterations from lane.position. Returns a value that depends on everything it
  // read and did not store, so that no read is optimised away (tests check it).
  virtual std::uint64_t run(Lane& lane, std::uint64_t iterations) const = 0;

  // Whether single accesses can be timed. each() then runs one iteration per entry of `ticks`,
  // writes its ticks (ticks.hpp) there, and rests `rest` ticks before it, untimed.
  [[nodiscard]] virtual bool can_time_each() const { return false; }
  // Whether every timed access ends with wait_for_stores(), whose overhead is then subtracted.
  [[nodiscard]] virtual bool each_waits_for_stores(const Shape& /*shape*/) const { return false; }
  virtual std::uint64_t each(Lane& lane, std::span<std::uint32_t> ticks, std::uint64_t rest) const;
};

struct KernelEntry {
  std::string_view name;
  std::string_view summary;  // one line, for --kernel list
  const Kernel* kernel;
};

// All kernels, by name.
const std::vector<KernelEntry>& kernels();
// Returns the kernel `name`; throws std::out_of_range if there is none.
const Kernel& kernel(std::string_view name);

// Returns true, so that it can initialise a variable; see NEARFAR_KERNEL.
bool register_kernel(KernelEntry entry);

// A file may register several kernels.
#define NEARFAR_KERNEL(Class, name, summary) NEARFAR_KERNEL_AT(Class, name, summary, __COUNTER__)
#define NEARFAR_KERNEL_AT(Class, name, summary, id) NEARFAR_KERNEL_ID(Class, name, summary, id)
#define NEARFAR_KERNEL_ID(Class, name, summary, id) \
  const Class the_kernel_##id;                      \
  [[maybe_unused]] const bool registered_##id =     \
      ::nearfar::measure::register_kernel({name, summary, &the_kernel_##id});

}  // namespace nearfar::measure
