// Python module nearfar._sim: bindings of the simulated memories.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "sim/device/memory.hpp"
#include "sim/device/replay.hpp"
#include "sim/device/run.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::sim;

namespace {

Replacement replacement_of(const std::string& name) {
  if (name == "lru") return Replacement::lru;
  if (name == "random") return Replacement::random;
  throw std::invalid_argument("replacement is lru or random, not " + name);
}

Isa isa_of(const std::string& name) {
  for (const Isa isa : usable_isas()) {
    if (name.empty() || name == name_of(isa)) return isa;
  }
  throw std::invalid_argument("this processor cannot run " + name);
}

Operation operation_of(const std::string& name) {
  if (name == "load") return Operation::load;
  if (name == "store") return Operation::store;
  if (name == "persist") return Operation::persist;
  if (name == "read-after-write") return Operation::read_after_write;
  throw std::invalid_argument("unknown operation " + name);
}

// Moves `values` into a numpy array without a copy.
nb::object array_of(std::vector<float>&& values) {
  auto* owned = new std::vector<float>(std::move(values));
  const nb::capsule owner(owned,
                          [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, float, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

}  // namespace

NB_MODULE(_sim, m) {
  nb::set_leak_warnings(false);  // main() ends without a search for cycles
  m.doc() = "Fast simulators of memory devices.";

  nb::class_<Level>(m, "Level")
      .def(
          "__init__",
          [](Level* self, std::uint32_t sets, std::uint32_t ways, const std::string& replacement,
             unsigned block_log2, double read_ns, double drain_ns) {
            new (self) Level{.shape = {sets, ways, replacement_of(replacement)},
                             .block_log2 = block_log2,
                             .read = {read_ns},
                             .drain = {drain_ns}};
          },
          "sets"_a, "ways"_a, "replacement"_a, "block_log2"_a, "read_ns"_a, "drain_ns"_a);
  nb::class_<Memory>(m, "Memory")
      .def(
          "__init__",
          [](Memory* self, const std::vector<Level>& caches, const std::vector<Level>& buffers,
             double media_read_ns, double media_drain_ns, std::uint32_t queue_lines,
             double queue_accept_ns, std::uint32_t devices, unsigned granularity_log2,
             std::uint32_t wear_period_writes, unsigned wear_block_log2, double wear_length_ns,
             double wear_spread, std::uint32_t wear_tracked_blocks, double refresh_period_ns,
             double refresh_length_ns, std::uint32_t tlb_entries, double tlb_walk_ns,
             std::uint64_t near_bytes, double near_read_ns, std::uint64_t seed) {
            new (self) Memory({.caches = caches,
                               .near_capacity = {near_bytes},
                               .near_read = {near_read_ns},
                               .buffers = buffers,
                               .media_read = {media_read_ns},
                               .media_drain = {media_drain_ns},
                               .queue = {queue_lines, {queue_accept_ns}},
                               .devices = devices,
                               .granularity_log2 = granularity_log2,
                               .wear = {wear_period_writes,
                                        wear_block_log2,
                                        {wear_length_ns},
                                        wear_spread,
                                        wear_tracked_blocks},
                               .refresh = {{refresh_period_ns}, {refresh_length_ns}},
                               .tlb = {tlb_entries, {tlb_walk_ns}},
                               .seed = seed});
          },
          nb::kw_only(), "caches"_a, "buffers"_a, "media_read_ns"_a, "media_drain_ns"_a,
          "queue_lines"_a, "queue_accept_ns"_a, "devices"_a, "granularity_log2"_a,
          "wear_period_writes"_a, "wear_block_log2"_a, "wear_length_ns"_a, "wear_spread"_a,
          "wear_tracked_blocks"_a, "refresh_period_ns"_a, "refresh_length_ns"_a, "tlb_entries"_a,
          "tlb_walk_ns"_a, "near_bytes"_a, "near_read_ns"_a, "seed"_a);

  nb::class_<RunResult>(m, "RunResult")
      .def_ro("read", &RunResult::read)
      .def_ro("written", &RunResult::written)
      .def_ro("lines", &RunResult::lines)
      .def_ro("walks", &RunResult::walks)
      .def_ro("media_writes", &RunResult::media_writes)
      .def_ro("wear_stalls", &RunResult::wear_stalls)
      .def_ro("refresh_stalls", &RunResult::refresh_stalls)
      .def_prop_ro("elapsed_ns", [](const RunResult& ran) { return ran.elapsed.count; })
      .def("take_each_ns", [](RunResult& ran) { return array_of(std::move(ran.each_ns)); });

  m.def(
      "run",
      [](Memory& memory, const std::string& operation, std::uint64_t region_bytes,
         std::uint64_t access_bytes, std::uint64_t stride_bytes, std::uint64_t window_bytes,
         bool random, std::uint64_t page_bytes, std::uint64_t pattern_seed, std::uint64_t first,
         std::uint64_t warm_up, std::uint64_t accesses, std::uint64_t fence_every, double fence_ns,
         double rest_ns, std::uint64_t wear_unit_bytes, bool each, const std::string& isa) {
        const Pattern pattern{.region = {region_bytes},
                              .access = {access_bytes},
                              .stride = {stride_bytes},
                              .window = {window_bytes},
                              .random = random,
                              .page = {page_bytes},
                              .seed = pattern_seed};
        const Run options{.operation = operation_of(operation),
                          .first = first,
                          .warm_up = warm_up,
                          .accesses = accesses,
                          .fence_every = fence_every,
                          .fence = {fence_ns},
                          .rest = {rest_ns},
                          .wear_unit = {wear_unit_bytes},
                          .each = each};
        return run(memory, pattern, options, isa_of(isa));
      },
      nb::kw_only(), "memory"_a, "operation"_a, "region_bytes"_a, "access_bytes"_a,
      "stride_bytes"_a, "window_bytes"_a = 0, "random"_a = true, "page_bytes"_a = 0,
      "pattern_seed"_a = 1, "first"_a = 0, "warm_up"_a = 0, "accesses"_a = 1, "fence_every"_a = 1,
      "fence_ns"_a = 0.0, "rest_ns"_a = 0.0, "wear_unit_bytes"_a = 256, "each"_a = false,
      "isa"_a = "", nb::call_guard<nb::gil_scoped_release>(),
      "Run a measuring kernel on a simulated memory.");
  nb::class_<ReplayResult>(m, "ReplayResult")
      .def_ro("accesses_by_level", &ReplayResult::accesses_by_level)
      .def_ro("written_back", &ReplayResult::written_back)
      .def_prop_ro("elapsed_ns",
                   [](const ReplayResult& replayed) { return replayed.elapsed.count; });
  m.def(
      "replay",
      [](Memory& memory, const nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig>& stream,
         const std::string& isa) {
        const Isa chosen = isa_of(isa);
        const std::span<const std::uint64_t> words{stream.data(), stream.size()};
        const nb::gil_scoped_release released;
        return replay(memory, words, chosen);
      },
      "memory"_a, "stream"_a, "isa"_a = "",
      "Run an address stream: each word is a byte address times two, plus 1 for a store.");
  m.def(
      "isas",
      [] {
        std::vector<std::string> names;
        for (const Isa isa : usable_isas()) names.emplace_back(name_of(isa));
        return names;
      },
      "Usable instruction sets, fastest first; results are equal.");
}
