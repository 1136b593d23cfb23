// nearfar._measure: the kernels and the harness for Python. Thin: no decision is made here.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <string>
#include <system_error>

#include "measure/harness.hpp"
#include "measure/kernel.hpp"
#include "measure/lines.hpp"
#include "measure/memory.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar;
using namespace nearfar::measure;

namespace {

os::Pages pages_of(const std::string& name) {
  static const std::map<std::string, os::Pages> names{{"4k", os::Pages::base},
                                                      {"thp", os::Pages::transparent_huge},
                                                      {"2m", os::Pages::reserved_huge}};
  return names.at(name);
}

// std::system_error becomes OSError(errno, what), which Python code can tell apart.
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

}  // namespace

NB_MODULE(_measure, m) {
  m.doc() = "Kernels that measure memory, and the harness that times them.";
  nb::register_exception_translator(translate);

  nb::class_<KernelEntry>(m, "Kernel")
      .def_prop_ro("name", [](const KernelEntry& k) { return std::string(k.name); })
      .def_prop_ro("summary", [](const KernelEntry& k) { return std::string(k.summary); })
      .def_prop_ro("read_bytes",
                   [](const KernelEntry& k) { return k.kernel->traffic().read.count; })
      .def_prop_ro("written_bytes",
                   [](const KernelEntry& k) { return k.kernel->traffic().written.count; })
      .def_prop_ro("non_temporal_bytes",
                   [](const KernelEntry& k) { return k.kernel->traffic().non_temporal.count; })
      .def_prop_ro("owned_bytes",
                   [](const KernelEntry& k) { return k.kernel->traffic().owned.count; })
      .def_prop_ro("dependent_loads",
                   [](const KernelEntry& k) { return k.kernel->traffic().dependent_loads; })
      .def_prop_ro("read_share",
                   [](const KernelEntry& k) { return k.kernel->traffic().read_share(); })
      .def_prop_ro("needs_links", [](const KernelEntry& k) { return k.kernel->needs_links(); })
      .def_prop_ro("max_chains", [](const KernelEntry& k) { return k.kernel->max_chains(); });
  m.def(
      "kernels", [] { return kernels(); }, "All kernels, by name.");
  m.def(
      "vector_extension", [] { return std::string(line_operations().name); },
      "Instruction set that the sequential bandwidth kernels use here.");
  m.def(
      "has_nt_store", [] { return line_operations().has_nt_store; },
      "Whether this processor has stores past the caches.");
  m.def(
      "timer",
      [] {
        return std::pair{timer().overhead.count, timer().resolution.count};
      },
      "Overhead and resolution of the thread CPU clock, ns.");

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
          [](int descriptor, std::uint64_t size_bytes, bool direct) {
            return Memory::file(descriptor, {size_bytes}, direct);
          },
          "descriptor"_a, "size_bytes"_a, "direct"_a, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro(
          "address",
          [](const Memory& memory) { return reinterpret_cast<std::uintptr_t>(memory.data()); })
      .def_prop_ro("size_bytes", [](const Memory& memory) { return memory.size().count; })
      .def("link", &Memory::link, "block_lines"_a = 1, "seed"_a = 1,
           nb::call_guard<nb::gil_scoped_release>())
      .def("nodes", &Memory::nodes, "samples"_a);

  nb::class_<Companion>(m, "Companion")
      .def(
          "__init__",
          [](Companion* self, unsigned cpu, const std::string& name, Memory* memory, unsigned part,
             unsigned parts, double pause_ns) {
            new (self) Companion{.kernel = name.empty() ? nullptr : &kernel(name),
                                 .memory = memory,
                                 .part = part,
                                 .parts = parts,
                                 .cpu = cpu,
                                 .pause = {pause_ns}};
          },
          "cpu"_a, "kernel"_a = "", "memory"_a.none() = nb::none(), "part"_a = 0, "parts"_a = 1,
          "pause_ns"_a = 0.0, nb::keep_alive<1, 4>(),
          "A thread beside what is timed; without a kernel it spins to keep its core awake.");

  m.def(
      "time_alone",
      [](const std::string& name, Memory& memory, std::uint64_t iterations, std::uint64_t warm_up,
         unsigned cpu, unsigned chains, const std::vector<Companion>& companions) {
        const Timing timing =
            time_alone(kernel(name), memory, iterations, warm_up, chains, cpu, companions);
        return std::pair{timing.per_iteration.count, timing.companion_gb_per_s};
      },
      "kernel"_a, "memory"_a, "iterations"_a, "warm_up"_a, "cpu"_a, "chains"_a = 1,
      "companions"_a = std::vector<Companion>{}, nb::call_guard<nb::gil_scoped_release>(),
      "ns per iteration on one CPU, and GB/s its companions drew meanwhile.");
  m.def(
      "bandwidth",
      [](const std::string& name, Memory& memory, const std::vector<unsigned>& cpus,
         double duration_ns, double warm_up_ns, const std::vector<Companion>& companions) {
        return bandwidth_gb_per_s(kernel(name), memory, cpus, {duration_ns}, {warm_up_ns},
                                  companions);
      },
      "kernel"_a, "memory"_a, "cpus"_a, "duration_ns"_a, "warm_up_ns"_a,
      "companions"_a = std::vector<Companion>{}, nb::call_guard<nb::gil_scoped_release>(),
      "GB/s of payload with one thread on each CPU.");
}
