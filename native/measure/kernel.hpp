// What a kernel is: a loop over lines of memory that declares its traffic, and nothing else.
//
// To add one: a file in kernels/ with a class and one NEARFAR_KERNEL line. The harness places,
// pins, warms, times and turns time into ns per access or GB/s; the kernel does none of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "measure/lines.hpp"

namespace nearfar::measure {

// What one iteration makes the memory move, in whole lines even where it touches one word of each.
// Payload is what bandwidth is counted in: read + written +
// non_temporal.
struct Traffic {
  Bytes read{};
  Bytes written{};               // ordinary stores
  Bytes non_temporal{};          // stores past the caches
  Bytes owned{};                 // read by the hardware before ordinary stores; not payload
  unsigned dependent_loads = 0;  // loads each of whose address is the one before's value

  [[nodiscard]] constexpr Bytes payload() const { return read + written + non_temporal; }
  // Reads over all that crosses the memory bus, 0 to 1.
  [[nodiscard]] constexpr double read_share() const {
    const auto in = static_cast<double>((read + owned).count);
    const auto out = static_cast<double>((written + non_temporal).count);
    return in + out == 0 ? 0 : in / (in + out);
  }
};

// What one thread works on.
struct Lane {
  std::byte* base;             // first of its lines
  std::uint64_t lines;         // how many it may touch
  const std::uint32_t* order;  // the linked memory's order, of `lines`; null if not linked
  std::uint64_t position;      // iterations done so far; the kernel goes on there and adds its own
  unsigned chains = 1;         // independent chains, for kernels that have them
  const LineOperations* operations = &line_operations();

  [[nodiscard]] std::byte* line(std::uint64_t i) const { return base + i * cache_line.count; }
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  // Of one iteration.
  [[nodiscard]] virtual Traffic traffic() const = 0;
  // Whether the memory must be linked (Memory::link); such a kernel's lane is the whole memory.
  [[nodiscard]] virtual bool needs_links() const { return false; }
  // Most chains it can keep going; 1: it has no chains.
  [[nodiscard]] virtual unsigned max_chains() const { return 1; }
  // Does `iterations` iterations from lane.position. Returns something that depends on everything
  // it read, so that no read can be left out (and tests can tell).
  virtual std::uint64_t run(Lane& lane, std::uint64_t iterations) const = 0;
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

#define NEARFAR_KERNEL(Class, name, summary) \
  const Class the_kernel;                    \
  [[maybe_unused]] const bool registered =   \
      ::nearfar::measure::register_kernel({name, summary, &the_kernel});

}  // namespace nearfar::measure
