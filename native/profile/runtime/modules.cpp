// Loaded files of the program: for symbols, and as regions of their data.
#include "profile/runtime/foreign_calls.hpp"
#include "profile/runtime/loaded_file.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/sites.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

void add_module(const dl_phdr_info& info) {
  ProcessHeader& header = *runtime.header;
  auto* modules = records<ModuleRecord>(header, header.modules);
  const Extent extent = extent_of(info);
  for (std::uint32_t i = 0; i < header.modules.used; ++i) {
    if (modules[i].begin == extent.begin && modules[i].end == extent.end) return;
  }
  if (header.modules.used == header.modules.capacity) {
    ++header.modules.lost;
    return;
  }
  char path_buffer[4096];
  const char* name = name_of(info, path_buffer);
  modules[header.modules.used] = {info.dlpi_addr, extent.begin, extent.end,
                                  runtime.strings.intern(name)};
  __atomic_store_n(&header.modules.used, header.modules.used + 1, __ATOMIC_RELEASE);

  // The runtime's own tables do not belong to the program.
  const auto here = reinterpret_cast<std::uint64_t>(&runtime);
  const bool is_runtime = extent.begin <= here && here < extent.end;
  const std::uint16_t site = site_of_path(ObjectKind::globals, name);
  for_each_segment(info, [&](const LoadedSegment& segment) {
    const std::uint64_t end = segment.begin + segment.size;
    runtime.regions.remove(segment.begin, end, [](const Region&) {});
    runtime.regions.insert({segment.begin, end, site, false});
    runtime.shadow.clear(segment.begin, segment.size);
    // Constants count as the program's memory; code does not.
    if (!segment.code && !is_runtime) count_allocated(site, {0, segment.size});
  });
  count_calls_of(info);
}

}  // namespace

void map_modules() { visit_loaded_files<add_module>(); }

}  // namespace nearfar::profile
