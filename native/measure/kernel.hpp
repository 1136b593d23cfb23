// What a kernel is: a loop over lines of memory that declares its traffic, and nothing else.
//
// To add one: a file in kernels/ with a class and one NEARFAR_KERNEL line. The harness places,
// pins, warms, times and turns time into ns per access or GB/s; the kernel does none of that.
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

// What one iteration makes the memory move, in whole lines even where it touches one word of each.
// Payload is what bandwidth is counted in: read + written + non_temporal.
struct Traffic {
  Bytes read{};
  Bytes written{};               // ordinary stores
  Bytes non_temporal{};          // stores past the caches
  Bytes owned{};                 // read by the hardware before ordinary stores; not payload
  Bytes both{};                  // of what is written: the same lines as are read
  Bytes flushed{};               // lines that an instruction writes back to the memory
  double fences = 0;             // that wait for the accesses before them
  unsigned dependent_loads = 0;  // loads each of whose address is the one before's value

  [[nodiscard]] constexpr Bytes stored() const { return written + non_temporal; }
  [[nodiscard]] constexpr Bytes payload() const { return read + stored(); }
  [[nodiscard]] constexpr Bytes touched() const { return payload() - both; }
  // Reads over all that crosses the memory bus, 0 to 1.
  [[nodiscard]] constexpr double read_share() const {
    const auto in = static_cast<double>((read + owned).count);
    const auto out = static_cast<double>(stored().count);
    return in + out == 0 ? 0 : in / (in + out);
  }
};

// What one thread works on.
struct Lane {
  std::byte* base;                       // first of its lines
  std::uint64_t lines;                   // how many it may touch
  std::byte* target = nullptr;           // as many lines of another memory, for kernels that copy
  const std::uint32_t* order = nullptr;  // in which linked lines are visited; null: not linked
  std::uint64_t visits = 0;              // length of `order`
  unsigned link = 0;                     // word of each line that leads to the next
  std::uint64_t position = 0;  // iterations done so far; the kernel goes on there, adds its own
  std::uint64_t skipped = 0;   // steps of the scattered sequence that led to no access
  unsigned chains = 1;         // independent chains, for kernels that have them
  Shape shape{};
  const Operations* operations = &measure::operations();

  [[nodiscard]] std::byte* line(std::uint64_t i) const { return base + i * cache_line.count; }
};

// In which order a kernel follows links.
enum class Links : std::uint8_t { none, random, sequential };

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  // Of one iteration: an access of `shape` (of a chase: one line of it).
  [[nodiscard]] virtual Traffic traffic(const Shape& shape) const = 0;
  // Loads over payload, 0 to 1; traffic() counts whole bytes, this does not.
  [[nodiscard]] virtual double loads_over_payload(const Shape& shape) const;
  // Which links it needs (Memory::link); such a kernel's lane is the whole region.
  [[nodiscard]] virtual Links links() const { return Links::none; }
  // Most chains it can keep going; 1: it has no chains.
  [[nodiscard]] virtual unsigned max_chains() const { return 1; }
  // Whether it can write to another memory than it reads (Lane::target).
  [[nodiscard]] virtual bool has_target() const { return false; }
  // Why it cannot run here with these operations, as the end of a sentence; "": it can.
  [[nodiscard]] virtual std::string missing(const Operations& /*operations*/) const { return {}; }

  // Does `iterations` iterations from lane.position. Returns something that depends on everything
  // it read, so that no read can be left out (and tests can tell).
  virtual std::uint64_t run(Lane& lane, std::uint64_t iterations) const = 0;

  // Whether single accesses can be timed. Then each() does as many iterations as `ticks` holds and
  // writes the ticks of each (ticks.hpp) there, resting `rest` ticks before each, untimed.
  [[nodiscard]] virtual bool can_time_each() const { return false; }
  // Whether every timed access ends with wait_for_stores(), whose own cost is then taken off.
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
// The kernel called `name`; throws std::out_of_range.
const Kernel& kernel(std::string_view name);

// Returns true so that it can initialise something; see NEARFAR_KERNEL.
bool register_kernel(KernelEntry entry);

// A file may register several: the same class in several orders.
#define NEARFAR_KERNEL(Class, name, summary) NEARFAR_KERNEL_AT(Class, name, summary, __COUNTER__)
#define NEARFAR_KERNEL_AT(Class, name, summary, id) NEARFAR_KERNEL_ID(Class, name, summary, id)
#define NEARFAR_KERNEL_ID(Class, name, summary, id) \
  const Class the_kernel_##id;                      \
  [[maybe_unused]] const bool registered_##id =     \
      ::nearfar::measure::register_kernel({name, summary, &the_kernel_##id});

}  // namespace nearfar::measure
