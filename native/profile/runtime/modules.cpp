// The program's loaded files: for symbols later, and as the regions of their data.
#include <link.h>
#include <string.h>

#include "profile/runtime/foreign_calls.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/sites.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// glibc counts loads; while the number stays there is nothing new.
unsigned long long loads_seen = 0;

struct Segment {
  std::uint64_t begin;
  std::uint64_t end;
};

// The kernel leaves the main program's name empty.
const char* name_of(const dl_phdr_info& info, char (&own)[4096]) {
  if (info.dlpi_name != nullptr && *info.dlpi_name != '\0') return info.dlpi_name;
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  own[length > 0 ? length : 0] = '\0';
  return own;
}

void note_module(const dl_phdr_info& info) {
  char own[4096];
  const char* name = name_of(info, own);
  ProcessHeader& header = *runtime.header;
  auto* modules = records<ModuleRecord>(header, header.modules);
  ModuleRecord module{info.dlpi_addr, UINT64_MAX, 0, 0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    if (begin < module.begin) module.begin = begin;
    if (begin + segment.p_memsz > module.end) module.end = begin + segment.p_memsz;
  }
  for (std::uint32_t i = 0; i < header.modules.used; ++i) {
    if (modules[i].begin == module.begin && modules[i].end == module.end) return;
  }
  if (header.modules.used == header.modules.capacity) {
    ++header.modules.lost;
    return;
  }
  module.path = runtime.strings.intern(name);
  modules[header.modules.used] = module;
  __atomic_store_n(&header.modules.used, header.modules.used + 1, __ATOMIC_RELEASE);

  // Our own tables are no part of the program.
  const auto here = reinterpret_cast<std::uint64_t>(&runtime);
  const bool ours = module.begin <= here && here < module.end;
  const std::uint16_t site = site_of_path(ObjectKind::globals, name);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    runtime.regions.remove(begin, begin + segment.p_memsz, [](const Region&) {});
    runtime.regions.insert({begin, begin + segment.p_memsz, site, false});
    runtime.shadow.clear(begin, segment.p_memsz);
    // Constants are part of what the program needs in memory; code is not data.
    if ((segment.p_flags & PF_X) == 0 && !ours) count_allocated(site, {0, segment.p_memsz});
  }
  count_calls_of(info);
}

int visit(dl_phdr_info* info, size_t, void* data) {
  auto& loads = *static_cast<unsigned long long*>(data);
  if (info->dlpi_adds == loads_seen) return 1;
  loads = info->dlpi_adds;
  note_module(*info);
  return 0;
}

}  // namespace

void map_modules() {
  // The loader's own lock is taken first, here and in a dlopen whose constructors come here.
  unsigned long long loads = loads_seen;
  dl_iterate_phdr(visit, &loads);
  loads_seen = loads;
}

}  // namespace nearfar::profile
