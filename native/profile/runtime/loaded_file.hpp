// What the loader says of a file of the program, as both libraries that ask it need it.
#pragma once

#include <link.h>
#include <unistd.h>

#include <cstdint>

namespace nearfar::profile {

// The kernel leaves the main program's name empty.
inline const char* name_of(const dl_phdr_info& info, char (&own)[4096]) {
  if (info.dlpi_name != nullptr && *info.dlpi_name != '\0') return info.dlpi_name;
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  own[length > 0 ? length : 0] = '\0';
  return own;
}

struct LoadedSegment {
  std::uint64_t begin;
  std::uint64_t size;
  bool code;
};

template <typename F>
void for_each_segment(const dl_phdr_info& info, F visit) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    visit(LoadedSegment{info.dlpi_addr + segment.p_vaddr, segment.p_memsz,
                        (segment.p_flags & PF_X) != 0});
  }
}

// From its first segment to the end of its last; begin > end for a file without any.
struct Extent {
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
};
inline Extent extent_of(const dl_phdr_info& info) {
  Extent extent;
  for_each_segment(info, [&](const LoadedSegment& segment) {
    if (segment.begin < extent.begin) extent.begin = segment.begin;
    if (segment.begin + segment.size > extent.end) extent.end = segment.begin + segment.size;
  });
  return extent;
}

// Calls `met(info)` for every loaded file if any was loaded since the last call. glibc counts
// loads; while the number stays there is nothing new.
template <void (*met)(const dl_phdr_info&)>
void visit_loaded_files() {
  static unsigned long long loads_seen = 0;
  unsigned long long loads = loads_seen;
  // The loader's own lock is taken first, here and in a dlopen whose constructors come here.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& found = *static_cast<unsigned long long*>(data);
        if (info->dlpi_adds == loads_seen) return 1;
        found = info->dlpi_adds;
        met(*info);
        return 0;
      },
      &loads);
  loads_seen = loads;
}

}  // namespace nearfar::profile
