// Python module nearfar._window: bursts of instructions through an out-of-order window.
#include "sim/window/window.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "sim/window/trace.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar::sim;

namespace {

template <class T>
using Words = nb::ndarray<const T, nb::ndim<1>, nb::c_contig>;

template <class T>
std::vector<T> vector_of(const Words<T>& words) {
  return {words.data(), words.data() + words.size()};
}

RegisterLists lists_of(const Words<std::uint32_t>& begins, const Words<std::uint8_t>& values,
                       std::size_t rows) {
  RegisterLists lists{vector_of(begins), vector_of(values)};
  if (lists.begins.size() != rows + 1 || lists.begins.back() != lists.values.size() ||
      !std::is_sorted(lists.begins.begin(), lists.begins.end())) {
    throw std::invalid_argument("a list of registers must have one row per instruction");
  }
  return lists;
}

void set_code(Trace& trace, const Words<std::uint8_t>& cycles,
              const Words<std::uint8_t>& conditional, const Words<std::uint8_t>& computing,
              const Words<std::uint32_t>& address_begins, const Words<std::uint8_t>& address,
              const Words<std::uint32_t>& uses_begins, const Words<std::uint8_t>& uses,
              const Words<std::uint32_t>& defs_begins, const Words<std::uint8_t>& defs) {
  const std::size_t rows = cycles.size();
  if (conditional.size() != rows || computing.size() != rows)
    throw std::invalid_argument("columns of code differ in length");
  trace.code = {lists_of(address_begins, address, rows),
                lists_of(uses_begins, uses, rows),
                lists_of(defs_begins, defs, rows),
                vector_of(cycles),
                vector_of(conditional),
                vector_of(computing)};
}

void add_block(Trace& trace, std::uint32_t first, std::uint32_t count, std::uint64_t begin,
               std::uint64_t end) {
  if (count == 0 || std::uint64_t{first} + count > trace.code.cycles.size()) {
    throw std::invalid_argument("a block's instructions are out of range");
  }
  trace.blocks.push_back({first, count, begin, end});
}

void add_burst(Trace& trace, const Words<std::uint32_t>& blocks,
               const Words<std::uint32_t>& instructions, const Words<std::uint32_t>& lines,
               const Words<std::uint8_t>& offsets, const Words<std::uint8_t>& widths,
               const Words<std::uint8_t>& stores) {
  const std::size_t size = instructions.size();
  if (lines.size() != size || stores.size() != size || offsets.size() != size ||
      widths.size() != size) {
    throw std::invalid_argument("columns of accesses differ in length");
  }
  Burst burst;
  burst.blocks = vector_of(blocks);
  for (const std::uint32_t block : burst.blocks) {
    if (block >= trace.blocks.size())
      throw std::invalid_argument("a burst's block is out of range");
  }
  // Word of 8 bytes -> index of the last store to it, plus 1.
  std::unordered_map<std::uint64_t, std::uint32_t> last_store;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines.data()[i] >= UINT32_MAX - 1)
      throw std::invalid_argument("a line's number is out of range");
    if (i > 0 && instructions.data()[i] < instructions.data()[i - 1]) {
      throw std::invalid_argument("accesses must be in program order");
    }
    const bool store = stores.data()[i] != 0;
    const std::uint64_t byte = std::uint64_t{lines.data()[i]} * 64 + offsets.data()[i];
    const auto store_entry = last_store.find(byte / 8);
    const std::uint32_t stored_by =
        store || store_entry == last_store.end() ? 0 : store_entry->second;
    burst.accesses.push_back({instructions.data()[i], lines.data()[i], store, stored_by});
    for (std::uint64_t at = byte; store && at < byte + std::max<unsigned>(widths.data()[i], 1);
         at += 8) {
      last_store[at / 8] = static_cast<std::uint32_t>(i) + 1;
    }
    trace.lines = std::max(trace.lines, lines.data()[i] + 1);
  }
  trace.bursts.push_back(std::move(burst));
}

Medium medium_of(const std::vector<double>& latency, double line, double write, double write_back,
                 double stream) {
  if (latency.size() != max_in_flight)
    throw std::invalid_argument("a latency curve must have 64 points");
  Medium medium;
  std::copy(latency.begin(), latency.end(), medium.latency.begin() + 1);
  medium.line = line;
  medium.write = write;
  medium.write_back = write_back;
  medium.stream = stream;
  return medium;
}

}  // namespace

NB_MODULE(_window, m) {
  nb::set_leak_warnings(false);  // main() ends without a search for cycles
  m.attr("MOST_IN_FLIGHT") = max_in_flight;
  nb::class_<Trace>(m, "Trace")
      .def(nb::init<>())
      .def("set_code", &set_code, nb::kw_only(), "cycles"_a, "conditional"_a, "computing"_a,
           "address_begins"_a, "address"_a, "uses_begins"_a, "uses"_a, "defs_begins"_a, "defs"_a)
      .def("add_block", &add_block, "first"_a, "count"_a, "begin"_a, "end"_a)
      .def("add_burst", &add_burst, nb::kw_only(), "blocks"_a, "instructions"_a, "lines"_a,
           "offsets"_a, "widths"_a, "stores"_a)
      .def(
          "predict",
          [](Trace& trace) {
            predict(trace);
            std::size_t mispredictions = 0;
            for (const Burst& burst : trace.bursts) {
              mispredictions += std::count(burst.mispredicted.begin(), burst.mispredicted.end(), 1);
            }
            return mispredictions;
          },
          "Mark mispredicted branches of all bursts; return their number.")
      .def(
          "dependences",
          [](const Trace& trace, std::size_t burst) {
            return dependences(trace, trace.bursts.at(burst));
          },
          "burst"_a,
          "Distance of each access to the load that its address comes from, in accesses.");
  nb::class_<Core>(m, "Core").def(
      "__init__",
      [](Core* core, std::uint32_t window, double width, std::uint32_t store_buffer,
         std::uint32_t miss_buffers, std::uint32_t computing, double arithmetic, double first_level,
         double second_level, double last_level, double mispredicted) {
        if (window == 0 || width <= 0 || store_buffer == 0 || miss_buffers == 0 || computing == 0) {
          throw std::invalid_argument("a core's buffers must not be empty");
        }
        new (core) Core{window,     width,       store_buffer, miss_buffers, computing,
                        arithmetic, first_level, second_level, last_level,   mispredicted};
      },
      nb::kw_only(), "window"_a, "width"_a, "store_buffer"_a, "miss_buffers"_a, "computing"_a,
      "arithmetic"_a, "first_level"_a, "second_level"_a, "last_level"_a, "mispredicted"_a);
  nb::class_<Medium>(m, "Medium")
      .def(
          "__init__",
          [](Medium* medium, const std::vector<double>& latency, double line, double write,
             double write_back, double stream) {
            new (medium) Medium(medium_of(latency, line, write, write_back, stream));
          },
          nb::kw_only(), "latency"_a, "line"_a, "write"_a, "write_back"_a, "stream"_a);
  nb::class_<WindowResult>(m, "WindowResult")
      .def_ro("cycles", &WindowResult::cycles)
      .def_ro("instructions", &WindowResult::instructions)
      .def_ro("mispredictions", &WindowResult::mispredictions)
      .def_ro("prefetched", &WindowResult::prefetched)
      .def_prop_ro("misses",
                   [](const WindowResult& result) { return result.served[2] + result.served[3]; });
  m.def(
      "run",
      [](const Trace& trace, const Words<std::uint8_t>& served, const Core& core,
         const Medium& near, const Medium& far) {
        std::size_t accesses = 0;
        for (const Burst& burst : trace.bursts) {
          accesses += burst.accesses.size();
          if (burst.mispredicted.size() != burst.blocks.size()) {
            throw std::invalid_argument("call predict() before run()");
          }
        }
        if (served.size() != accesses)
          throw std::invalid_argument("`served` must have one entry per access");
        std::vector<Served> places(served.size());
        std::transform(served.data(), served.data() + served.size(), places.begin(),
                       [](std::uint8_t place) {
                         return static_cast<Served>(std::min<std::uint8_t>(place, 3));
                       });
        const nb::gil_scoped_release released;
        return run_window(trace, places, core, near, far);
      },
      "trace"_a, "served"_a, "core"_a, "near"_a, "far"_a,
      "Run all bursts; served: 0 private cache, 1 last-level cache, 2 near, 3 far memory.");
}
