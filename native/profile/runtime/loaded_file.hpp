// Loaded files of the program, from the loader's data.
#pragma once

#include <link.h>
#include <unistd.h>

#include <cstdint>

namespace nearfar::profile {

// The main program has an empty name in the loader's data.
inline const char* name_of(const dl_phdr_info& info, char (&path_buffer)[4096]) {
  if (info.dlpi_name != nullptr && *info.dlpi_name != '\0') return info.dlpi_name;
  const ssize_t length = readlink("/proc/self/exe", path_buffer, sizeof path_buffer - 1);
  path_buffer[length > 0 ? length : 0] = '\0';
  return path_buffer;
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

// Range from the start of a file's first segment to the end of its last; begin > end without
// segments.
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

// Calls `visit(info)` for every loaded file if any file was loaded since the last call, according
// to glibc's count of loads.
template <void (*visit)(const dl_phdr_info&)>
void visit_loaded_files() {
  static unsigned long long loads_seen = 0;
  unsigned long long loads = loads_seen;
  // Takes the loader's lock first, in the same order as a dlopen whose constructors call this.
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& latest = *static_cast<unsigned long long*>(data);
        if (info->dlpi_adds == loads_seen) return 1;
        latest = info->dlpi_adds;
        visit(*info);
        return 0;
      },
      &loads);
  loads_seen = loads;
}

}  // namespace nearfar::profile
