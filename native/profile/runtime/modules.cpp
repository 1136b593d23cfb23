// Loaded files of the program: for symbols, and as regions of their data.
#include <stdio.h>

#include "profile/abi.h"
#include "profile/runtime/foreign_calls.hpp"
#include "profile/runtime/loaded_file.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/sites.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// Prefix of the path of a site that is a variable; other sites have the path of their file.
constexpr char variable_mark = '\t';

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

void __nf_register_variable(const void* address, uint64_t bytes, const char* name) {
  using namespace nearfar::profile;
  Guard const guard;
  if (!active() || !guard) return;
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  const std::uint16_t whole = runtime.regions.find(begin);
  if (whole < first_free_site) return;
  SiteRecord& module = runtime.sites[whole];
  // The region is a variable already: another file defines it too.
  if (module.kind != ObjectKind::globals || module.path == 0 ||
      runtime.strings.text(static_cast<std::uint32_t>(module.path))[0] == variable_mark) {
    return;
  }
  char path[512];
  snprintf(path, sizeof path, "%c%s", variable_mark, name);
  const std::uint16_t site = site_of_path(ObjectKind::globals, path);
  runtime.regions.remove(begin, begin + bytes, [](const Region&) {});
  runtime.regions.insert({begin, begin + bytes, site, false});
  runtime.shadow.clear(begin, bytes);
  // The variable is subtracted from the file's data, also at the peak.
  count_freed(whole, bytes);
  add(module.allocated_bytes, std::uint64_t{0} - bytes);
  const auto moved = static_cast<std::int64_t>(bytes);
  add(module.peak_bytes, -moved);
  count_allocated(site, {1, bytes});
  if (module.bytes_at_peak >= moved) {
    add(module.bytes_at_peak, -moved);
    add(runtime.sites[site].bytes_at_peak, moved);
  }
}
