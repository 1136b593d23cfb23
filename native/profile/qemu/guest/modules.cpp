// The program's loaded files, as in runtime/modules.cpp, but told to whoever reads the ring.
#include <link.h>
#include <unistd.h>

#include "profile/qemu/guest/send.hpp"
#include "profile/runtime/memory_events.hpp"

namespace nearfar::profile {

namespace {

// glibc counts loads; while the number stays there is nothing new.
unsigned long long loads_seen = 0;
// Files are told once: by where they begin. More than these are told again at each load.
constexpr unsigned most_told = 1024;
std::uint64_t told[most_told];
unsigned told_count = 0;

bool is_new(std::uint64_t begin) {
  for (unsigned i = 0; i < told_count; ++i) {
    if (told[i] == begin) return false;
  }
  if (told_count < most_told) told[told_count++] = begin;
  return true;
}

// The kernel leaves the main program's name empty.
const char* name_of(const dl_phdr_info& info, char (&own)[4096]) {
  if (info.dlpi_name != nullptr && *info.dlpi_name != '\0') return info.dlpi_name;
  const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  own[length > 0 ? length : 0] = '\0';
  return own;
}

void tell(const dl_phdr_info& info) {
  std::uint64_t begin = UINT64_MAX;
  std::uint64_t end = 0;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t at = info.dlpi_addr + segment.p_vaddr;
    if (at < begin) begin = at;
    if (at + segment.p_memsz > end) end = at + segment.p_memsz;
  }
  if (begin >= end || !is_new(begin)) return;
  char own[4096];
  const std::uint64_t path = text_of(name_of(info, own));
  send(NF_RING_MODULE, {info.dlpi_addr, begin, end, path});
  const bool ours = begin <= ring->own_begin && ring->own_begin < end;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const bool code = (segment.p_flags & PF_X) != 0 || ours;
    send(NF_RING_SEGMENT, {info.dlpi_addr + segment.p_vaddr, segment.p_memsz, path, code});
  }
}

int visit(dl_phdr_info* info, size_t, void* data) {
  auto& loads = *static_cast<unsigned long long*>(data);
  if (info->dlpi_adds == loads_seen) return 1;
  loads = info->dlpi_adds;
  tell(*info);
  return 0;
}

}  // namespace

void map_modules() {
  unsigned long long loads = loads_seen;
  dl_iterate_phdr(visit, &loads);
  loads_seen = loads;
}

}  // namespace nearfar::profile
