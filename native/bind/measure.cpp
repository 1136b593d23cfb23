// Python module nearfar._measure: bindings of the kernels and the harness.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "measure/core/code.hpp"
#include "measure/core/probe.hpp"
#include "measure/core_to_core.hpp"
#include "measure/harness.hpp"
#include "measure/kernel.hpp"
#include "measure/memory.hpp"
#include "measure/paged.hpp"
#include "measure/stolen.hpp"
#include "measure/ticks.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::measure;

namespace {

os::Pages pages_of(const std::string& name) {
  static const std::map<std::string, os::Pages> names{{"4k", os::Pages::base},
                                                      {"thp", os::Pages::transparent_huge},
                                                      {"2m", os::Pages::reserved_huge},
                                                      {"1g", os::Pages::reserved_giant}};
  return names.at(name);
}

// Converts std::system_error to OSError(errno, what), so that Python code can distinguish errors.
void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const std::system_error& error) {
    const std::string what = error.what();
    nb::object value =
        nb::module_::import_("builtins").attr("OSError")(error.code().value(), what.c_str());
    PyErr_SetObject(PyExc_OSError, value.ptr());
  }
}

// Moves `values` into a numpy array without a copy.
auto to_numpy(std::vector<float>&& values) {
  auto* owned = new std::vector<float>(std::move(values));
  const nb::capsule owner(owned,
                          [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  return nb::ndarray<nb::numpy, float, nb::ndim<1>>(owned->data(), {owned->size()}, owner);
}

// Runs `run` without the interpreter lock and returns its result.
template <class Run>
auto unlocked(Run run) {
  const nb::gil_scoped_release released;
  return run();
}

}  // namespace

NB_MODULE(_measure, m) {
  nb::set_leak_warnings(false);  // main() ends without a search for cycles
  m.doc() = "Kernels that measure memory, and the harness that times them.";
  nb::register_exception_translator(translate);

  nb::class_<Shape>(m, "Shape")
      .def(
          "__init__",
          [](Shape* self, std::uint64_t access_bytes, std::uint64_t stride_bytes,
             std::uint64_t window_bytes, double read_share, unsigned fence_every) {
            const Shape shape{
                {access_bytes}, {stride_bytes}, {window_bytes}, read_share, fence_every};
            check(shape);
            new (self) Shape(shape);
          },
          "access_bytes"_a = cache_line.count, "stride_bytes"_a = 0, "window_bytes"_a = 0,
          "read_share"_a = 1.0, "fence_every"_a = 1,
          "How a kernel visits its lines; raises ValueError for an invalid shape.");

  nb::class_<Traffic>(m, "Traffic", "Traffic of one iteration, bytes.")
      .def_prop_ro("read_bytes", [](const Traffic& t) { return t.read.count; })
      .def_prop_ro("written_bytes", [](const Traffic& t) { return t.written.count; })
      .def_prop_ro("non_temporal_bytes", [](const Traffic& t) { return t.non_temporal.count; })
      .def_prop_ro("owned_bytes", [](const Traffic& t) { return t.owned.count; })
      .def_prop_ro("flushed_bytes", [](const Traffic& t) { return t.flushed.count; })
      .def_ro("fences", &Traffic::fences)
      .def_ro("dependent_loads", &Traffic::dependent_loads)
      .def_prop_ro("read_share", &Traffic::read_share,
                   "Share of reads in the memory bus's traffic, reads for ownership included.");

  nb::class_<KernelEntry>(m, "Kernel")
      .def_prop_ro("name", [](const KernelEntry& k) { return std::string(k.name); })
      .def_prop_ro("summary", [](const KernelEntry& k) { return std::string(k.summary); })
      .def(
          "traffic", [](const KernelEntry& k, const Shape& s) { return k.kernel->traffic(s); },
          "shape"_a = Shape{})
      .def_prop_ro("needs_links",
                   [](const KernelEntry& k) { return k.kernel->links() != Links::none; })
      .def_prop_ro("max_chains", [](const KernelEntry& k) { return k.kernel->max_chains(); })
      .def_prop_ro("has_target", [](const KernelEntry& k) { return k.kernel->has_target(); })
      .def(
          "part_bytes",
          [](const KernelEntry& k, std::uint64_t array_bytes) {
            return k.kernel->part_for({array_bytes}).count;
          },
          "array_bytes"_a,
          "Size of a thread's part in which each array has so many bytes, in whole lines.")
      .def_prop_ro("can_time_each", [](const KernelEntry& k) { return k.kernel->can_time_each(); })
      .def(
          "missing",
          [](const KernelEntry& k, const std::string& isa) {
            return k.kernel->missing(operations(isa));
          },
          "isa"_a = "",
          "Why the kernel cannot run here, as the end of 'this processor ...'; empty: it can.");
  m.def(
      "kernels", [] { return kernels(); }, "All kernels, by name.");
  m.def(
      "isas",
      [] {
        std::vector<std::string> names;
        for (const auto& operations : all_operations()) names.emplace_back(operations.name);
        return names;
      },
      "Instruction sets that kernels can use here, widest (the default) first.");
  m.def(
      "vector_extension", [] { return std::string(operations().name); },
      "Default instruction set of kernels.");
  m.def(
      "has_nt_store", [] { return operations().has_nt_store; },
      "Whether this processor has non-temporal stores.");
  m.def(
      "timer",
      [] {
        return std::pair{timer().overhead.count, timer().resolution.count};
      },
      "Overhead and resolution of the thread CPU clock, ns.");
  m.def(
      "access_timer",
      [] {
        return std::pair{tick_clock().overhead.count, tick_clock().resolution.count};
      },
      nb::call_guard<nb::gil_scoped_release>(),
      "Overhead (already subtracted) and resolution of timing a single access, ns.");

  nb::class_<Memory>(m, "Memory")
      .def_static(
          "anonymous",
          [](std::uint64_t size_bytes, const std::string& pages, std::optional<unsigned> node) {
            return Memory::anonymous({size_bytes}, pages_of(pages), node);
          },
          "size_bytes"_a, "pages"_a, "node"_a.none() = nb::none(),
          nb::call_guard<nb::gil_scoped_release>())
      .def_static(
          "file",
          [](int descriptor, std::uint64_t size_bytes, bool direct, std::uint64_t offset_bytes,
             std::uint64_t unit_bytes) {
            return Memory::file(descriptor, {size_bytes}, direct, {offset_bytes}, {unit_bytes});
          },
          "descriptor"_a, "size_bytes"_a, "direct"_a, "offset_bytes"_a = 0,
          "unit_bytes"_a = os::base_page.count, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro(
          "address",
          [](const Memory& memory) { return reinterpret_cast<std::uintptr_t>(memory.data()); })
      .def_prop_ro("size_bytes", [](const Memory& memory) { return memory.size().count; })
      .def(
          "link",
          [](Memory& memory, std::uint64_t region_bytes, const Shape& shape, bool sequential) {
            return memory.link({region_bytes == 0 ? memory.size().count : region_bytes}, shape,
                               sequential ? Links::sequential : Links::random);
          },
          "region_bytes"_a = 0, "shape"_a = Shape{}, "sequential"_a = false,
          nb::call_guard<nb::gil_scoped_release>(),
          "Link the first bytes for a chase, as timing does; False: they were linked already.")
      .def("nodes", &Memory::nodes, "samples"_a);

  nb::class_<Worker>(m, "Worker")
      .def(
          "__init__",
          [](Worker* self, unsigned cpu, const std::string& name, Memory* memory, Memory* second,
             std::uint64_t region_bytes, unsigned part, unsigned parts, const Shape& shape,
             unsigned chains, double pause_ns, const std::string& isa) {
            new (self) Worker{.cpu = cpu,
                              .kernel = name.empty() ? nullptr : &kernel(name),
                              .memory = memory,
                              .second = second,
                              .region = {region_bytes},
                              .part = part,
                              .parts = parts,
                              .shape = shape,
                              .chains = chains,
                              .pause = {pause_ns},
                              .operations = &operations(isa)};
          },
          "cpu"_a, "kernel"_a = "", "memory"_a.none() = nb::none(), "second"_a.none() = nb::none(),
          "region_bytes"_a = 0, "part"_a = 0, "parts"_a = 1, "shape"_a = Shape{}, "chains"_a = 1,
          "pause_ns"_a = 0.0, "isa"_a = "", nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
          "Work of one thread; without a kernel it spins to keep its core awake.");

  nb::class_<WorkerTraffic>(m, "WorkerTraffic", "Traffic of one thread, GB/s.")
      .def_ro("read_gb_per_s", &WorkerTraffic::read_gb_per_s)
      .def_ro("written_gb_per_s", &WorkerTraffic::written_gb_per_s)
      .def_prop_ro("gb_per_s", &WorkerTraffic::total);

  nb::class_<Timing>(m, "Timing")
      .def_prop_ro("ns", [](const Timing& timing) { return timing.per_iteration.count; })
      .def_ro("iterations", &Timing::iterations)
      .def_ro("beside", &Timing::beside)
      .def_prop_ro("loops_ns", [](const Timing& timing) { return timing.in_loops.count; })
      .def_ro("warm_up_passes", &Timing::warm_up_passes)
      .def_ro("switches", &Timing::switches)
      .def_ro("disturbed", &Timing::disturbed);
  m.def(
      "time_alone",
      [](const Worker& worker, std::uint64_t iterations, std::uint64_t warm_up, double min_ns,
         const std::vector<Worker>& beside, std::uint64_t pass_iterations,
         const StolenTicks* stolen) {
        return time_alone(worker, iterations, {warm_up, pass_iterations}, {min_ns}, beside, stolen);
      },
      "worker"_a, "iterations"_a, "warm_up"_a, "min_ns"_a = 0.0, "beside"_a = std::vector<Worker>{},
      "pass_iterations"_a = 0, "stolen"_a.none() = nb::none(),
      nb::call_guard<nb::gil_scoped_release>(),
      "ns per iteration on one CPU, and the others' traffic meanwhile. With pass_iterations, the\n"
      "warm-up ends once a pass takes as long as the previous pass. A co-runner that only spins\n"
      "then reads `stolen` for its next call.");
  m.def(
      "time_each",
      [](const Worker& worker, std::uint64_t accesses, std::uint64_t warm_up, double rest_ns,
         const std::vector<Worker>& beside) {
        EachTiming timed;
        {
          const nb::gil_scoped_release released;
          timed = time_each(worker, accesses, warm_up, {rest_ns}, beside);
        }
        return std::pair{to_numpy(std::move(timed.ns)), timed.timing};
      },
      "worker"_a, "accesses"_a, "warm_up"_a, "rest_ns"_a = 0.0, "beside"_a = std::vector<Worker>{},
      "ns of every access (float32), and a Timing: ns is the mean of their middle half.");

  nb::class_<ParallelTiming>(m, "ParallelTiming")
      .def_ro("each", &ParallelTiming::each)
      .def_prop_ro("loops_ns", [](const ParallelTiming& timing) { return timing.in_loops.count; })
      .def_ro("disturbed", &ParallelTiming::disturbed);
  m.def(
      "together",
      [](const std::vector<Worker>& workers, double duration_ns, double warm_up_ns, bool by_clock) {
        return together(workers, {duration_ns}, {warm_up_ns}, by_clock);
      },
      "workers"_a, "duration_ns"_a, "warm_up_ns"_a, "by_clock"_a = false,
      nb::call_guard<nb::gil_scoped_release>(),
      "Traffic of each of several threads that run at once.");

  nb::class_<StolenTicks>(m, "StolenTicks", "Time that a hypervisor took from CPUs, in ticks.")
      .def(nb::init<const std::string&, const std::vector<unsigned>&>(), "path"_a, "cpus"_a,
           "Open /proc/stat, or raise OSError.")
      .def("most_since_last_call", &StolenTicks::most_since_last_call,
           "The most ticks that one of the CPUs lost since the last call.");

  nb::class_<HandOff>(m, "HandOff")
      .def_prop_ro("line_ns", [](const HandOff& times) { return times.line.count; })
      .def_prop_ro("modified_ns", [](const HandOff& times) { return times.modified.count; })
      .def_prop_ro("clean_ns", [](const HandOff& times) { return times.clean.count; })
      .def_ro("disturbed", &HandOff::disturbed);
  m.def("missing_code", &missing_code,
        "Why code cannot be generated here, as the end of a sentence; empty: it can.");
  m.def(
      "check_code", [] { static_cast<void>(filler_code("nop", 1)); },
      "Generate a loop; raises OSError if the system forbids that.");
  m.def("filler_names", &filler_names,
        "Names of instructions that can be placed between two misses.");
  m.def("operation_names", &operation_names, "Names of operations whose latency can be measured.");
  nb::class_<CoreProbe>(m, "CoreProbe",
                        "Timings that show the sizes of a core's buffers, see core/probe.hpp.")
      .def(
          "__init__",
          [](CoreProbe* self, std::uint64_t chain_bytes, unsigned cpu, std::uint64_t seed) {
            new (self) CoreProbe({chain_bytes}, cpu, seed);
          },
          "chain_bytes"_a, "cpu"_a, "seed"_a = 1, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "overlap",
          [](CoreProbe& probe, const std::vector<std::string>& fillers,
             const std::vector<unsigned>& counts, unsigned trials) {
            return to_numpy(unlocked([&] { return probe.overlap(fillers, counts, trials); }));
          },
          "fillers"_a, "counts"_a, "trials"_a,
          "ns per round of two misses, each followed by `count` fillers; by count, by trial.")
      .def(
          "chains",
          [](CoreProbe& probe, const std::vector<unsigned>& counts, unsigned trials) {
            return to_numpy(unlocked([&] { return probe.chains(counts, trials); }));
          },
          "counts"_a, "trials"_a, "ns per round of `count` concurrent misses; by count, by trial.")
      .def(
          "throughput",
          [](const CoreProbe& probe, const std::string& filler, unsigned trials) {
            return to_numpy(unlocked([&] { return probe.throughput(filler, trials); }));
          },
          "filler"_a, "trials"_a, "ns per independent instruction.")
      .def(
          "dependent",
          [](const CoreProbe& probe, const std::string& operation, unsigned trials) {
            return to_numpy(unlocked([&] { return probe.dependent(operation, trials); }));
          },
          "operation"_a, "trials"_a, "ns per operation in a chain of dependent operations.")
      .def(
          "branches",
          [](CoreProbe& probe, unsigned trials) {
            return to_numpy(unlocked([&] { return probe.branches(trials); }));
          },
          "trials"_a, "ns per branch: always taken alike, then at random; by trial.")
      .def(
          "after_stream",
          [](CoreProbe& probe, unsigned length, std::uint64_t stride_bytes, int ahead,
             bool at_page_end, unsigned trials) {
            return to_numpy(unlocked([&] {
              return probe.after_stream(length, stride_bytes, ahead, at_page_end, trials);
            }));
          },
          "length"_a, "stride_bytes"_a, "ahead"_a, "at_page_end"_a, "trials"_a,
          "ns of a read `ahead` strides beyond a stream of `length` reads.");
  m.def(
      "spread_chase",
      [](Memory& memory, std::uint64_t step_bytes, std::uint64_t count, unsigned cpu,
         unsigned trials) {
        return to_numpy(
            unlocked([&] { return spread_chase(memory, {step_bytes}, count, cpu, trials); }));
      },
      "memory"_a, "step_bytes"_a, "count"_a, "cpu"_a, "trials"_a,
      "ns per dependent read of `count` lines, one in each step, in random order.");
  m.def("core_to_core", &core_to_core, "cpu_a"_a, "cpu_b"_a, "memory"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Time of a line from one core to another, one way; see core_to_core.hpp.");

  nb::class_<Spent>(m, "Spent")
      .def_prop_ro("wall_ns", [](const Spent& spent) { return spent.wall.count; })
      .def_prop_ro("cpu_ns", [](const Spent& spent) { return spent.cpu.count; })
      .def_ro("pages", &Spent::pages);
  nb::class_<PagedRegion>(m, "PagedRegion")
      .def(
          "__init__",
          [](PagedRegion* self, std::uint64_t size_bytes, bool huge) {
            new (self) PagedRegion({size_bytes}, huge);
          },
          "size_bytes"_a, "huge"_a)
      .def(
          "fill",
          [](PagedRegion& region, const std::string& data, std::uint64_t seed) {
            unlocked([&] { region.fill(page_data(data), seed); });
          },
          "data"_a, "seed"_a, "Write every page with records, noise or words.")
      .def("compression_work", &PagedRegion::compression_work,
           "Mean work of a compressor on a page, in places searched.")
      .def("evict", &PagedRegion::evict, nb::call_guard<nb::gil_scoped_release>(),
           "Send all pages to swap.")
      .def("resident", &PagedRegion::resident, "Number of pages that are in memory.")
      .def(
          "touch",
          [](PagedRegion& region, const std::vector<unsigned>& cpus, bool write, bool in_order,
             std::uint64_t seed) {
            Sweep sweep = unlocked([&] { return region.touch(cpus, write, in_order, seed); });
            return nb::make_tuple(sweep.spent, to_numpy(std::move(sweep.each_ns)), sweep.major);
          },
          "cpus"_a, "write"_a, "in_order"_a, "seed"_a,
          "Touch every page once; time, ns of each touch, faults that read from swap.")
      .def(
          "touch_again",
          [](PagedRegion& region, unsigned cpu, std::uint64_t count, std::uint64_t seed) {
            const Sweep sweep = unlocked([&] { return region.touch_again(cpu, count, seed); });
            return nb::make_tuple(sweep.spent, sweep.major);
          },
          "cpu"_a, "count"_a, "seed"_a,
          "Touch pages at random; time, and faults that read from swap.");
}
