// The Python module nearfar._window: bursts of instructions through an out-of-order window.
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
    throw std::invalid_argument("a list of registers has not one row for each instruction");
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
    throw std::invalid_argument("a block has instructions that are not there");
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
    if (block >= trace.blocks.size()) throw std::invalid_argument("a burst's block is not there");
  }
  // By word of 8 bytes, the place of the store that wrote it last, plus 1.
  std::unordered_map<std::uint64_t, std::uint32_t> written;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines.data()[i] >= UINT32_MAX - 1) throw std::invalid_argument("a line has no number");
    if (i > 0 && instructions.data()[i] < instructions.data()[i - 1]) {
      throw std::invalid_argument("accesses are not in order");
    }
    const bool store = stores.data()[i] != 0;
    const std::uint64_t byte = std::uint64_t{lines.data()[i]} * 64 + offsets.data()[i];
    const auto known = written.find(byte / 8);
    const std::uint32_t stored_by = store || known == written.end() ? 0 : known->second;
    burst.accesses.push_back({instructions.data()[i], lines.data()[i], store, stored_by});
    for (std::uint64_t at = byte; store && at < byte + std::max<unsigned>(widths.data()[i], 1);
         at += 8) {
      written[at / 8] = static_cast<std::uint32_t>(i) + 1;
    }
    trace.lines = std::max(trace.lines, lines.data()[i] + 1);
  }
  trace.bursts.push_back(std::move(burst));
}

Medium medium_of(const std::vector<double>& latency, double line, double write, double write_back,
                 double stream) {
  if (latency.size() != most_in_flight) throw std::invalid_argument("a curve has 64 points");
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
  m.attr("MOST_IN_FLIGHT") = most_in_flight;
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
            std::size_t wrong = 0;
            for (const Burst& burst : trace.bursts) {
              wrong += std::count(burst.mispredicted.begin(), burst.mispredicted.end(), true);
            }
            return wrong;
          },
          "Tell mispredicted branches, once all bursts are added; return how many there are.")
      .def(
          "dependences",
          [](const Trace& trace, std::size_t burst) {
            return dependences(trace, trace.bursts.at(burst));
          },
          "burst"_a, "By access, how many accesses back the load is that its address comes from.");
  nb::class_<Core>(m, "Core").def(
      "__init__",
      [](Core* core, std::uint32_t window, double width, std::uint32_t store_buffer,
         std::uint32_t miss_buffers, std::uint32_t computing, double arithmetic, double first_level,
         double second_level, double last_level, double mispredicted) {
        if (window == 0 || width <= 0 || store_buffer == 0 || miss_buffers == 0 || computing == 0) {
          throw std::invalid_argument("a core has room for something");
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
  nb::class_<Windowed>(m, "Windowed")
      .def_ro("cycles", &Windowed::cycles)
      .def_ro("instructions", &Windowed::instructions)
      .def_ro("mispredictions", &Windowed::mispredictions)
      .def_ro("prefetched", &Windowed::prefetched)
      .def_prop_ro("misses",
                   [](const Windowed& found) { return found.served[2] + found.served[3]; });
  m.def(
      "run",
      [](const Trace& trace, const Words<std::uint8_t>& served, const Core& core,
         const Medium& near, const Medium& far) {
        std::size_t accesses = 0;
        for (const Burst& burst : trace.bursts) {
          accesses += burst.accesses.size();
          if (burst.mispredicted.size() != burst.blocks.size()) {
            throw std::invalid_argument("mispredicted branches have not been told");
          }
        }
        if (served.size() != accesses) throw std::invalid_argument("not one place per access");
        std::vector<Served> places;
        for (std::size_t i = 0; i < served.size(); ++i) {
          places.push_back(static_cast<Served>(std::min<std::uint8_t>(served.data()[i], 3)));
        }
        const nb::gil_scoped_release released;
        return run_window(trace, places, core, near, far);
      },
      "trace"_a, "served"_a, "core"_a, "near"_a, "far"_a,
      "Run all bursts; served: 0 private cache, 1 last level, 2 near, 3 far memory.");
}
