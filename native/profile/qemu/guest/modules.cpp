// The program's loaded files, as in runtime/modules.cpp, but sent through the ring.
#include "profile/qemu/guest/send.hpp"
#include "profile/runtime/loaded_file.hpp"
#include "profile/runtime/memory_events.hpp"

namespace nearfar::profile {

namespace {

// Files are sent once, identified by their start. More than these are sent again at each load.
constexpr unsigned max_sent = 1024;
std::uint64_t sent[max_sent];
unsigned sent_count = 0;

bool is_new(std::uint64_t begin) {
  for (unsigned i = 0; i < sent_count; ++i) {
    if (sent[i] == begin) return false;
  }
  if (sent_count < max_sent) sent[sent_count++] = begin;
  return true;
}

void send_module(const dl_phdr_info& info) {
  const Extent extent = extent_of(info);
  if (extent.begin >= extent.end || !is_new(extent.begin)) return;
  char path_buffer[4096];
  const std::uint64_t path = text_of(name_of(info, path_buffer));
  send(NF_RING_MODULE, {info.dlpi_addr, extent.begin, extent.end, path});
  const bool is_own = extent.begin <= ring->own_begin && ring->own_begin < extent.end;
  for_each_segment(info, [&](const LoadedSegment& segment) {
    const bool code = segment.code || is_own;
    send(NF_RING_SEGMENT, {segment.begin, segment.size, path, code});
  });
}

}  // namespace

void map_modules() { visit_loaded_files<send_module>(); }

}  // namespace nearfar::profile
