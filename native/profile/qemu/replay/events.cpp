// Passes events of the preloaded library to the runtime, as the hooks inside an instrumented
// program do.
#include "profile/qemu/replay/events.hpp"

#include "profile/qemu/replay/instructions.hpp"
#include "profile/runtime/interpreter.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/recent_call.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/sites.hpp"
#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

namespace {

// Return addresses of the current event, as the result of walk_stack.
std::uint64_t frames[max_frames];
std::uint64_t depth;
std::uint16_t freed_site = site_none;

// Named frames are offsets in the ring's text; the tables need offsets in the process file.
void set_frames(const nf_ring& ring, const nf_ring_event& event, unsigned at) {
  depth = event.words[at] < max_frames ? event.words[at] : max_frames;
  for (std::uint64_t i = 0; i < depth; ++i) {
    const std::uint64_t word = event.words[at + 1 + i];
    const bool is_named = (word & named_frame_bit) != 0;
    frames[i] =
        is_named ? named_frame_bit | runtime.strings.intern(path_at(ring, word & ~named_frame_bit))
                 : word;
  }
}

void add_module(const nf_ring& ring, const std::uint64_t* words) {
  ProcessHeader& header = *runtime.header;
  if (header.modules.used == header.modules.capacity) {
    ++header.modules.lost;
    return;
  }
  auto* modules = records<ModuleRecord>(header, header.modules);
  const std::uint32_t path = runtime.strings.intern(path_at(ring, words[3]));
  modules[header.modules.used++] = {words[0], words[1], words[2], path};
}

void add_segment(const nf_ring& ring, const std::uint64_t* words) {
  const std::uint64_t begin = words[0];
  const std::uint64_t size = words[1];
  const std::uint16_t site = site_of_path(ObjectKind::globals, path_at(ring, words[2]));
  runtime.regions.remove(begin, begin + size, [](const Region&) {});
  runtime.regions.insert({begin, begin + size, site, false});
  runtime.shadow.clear(begin, size);
  // Constants count as the program's memory; code does not.
  if (words[3] == 0) count_allocated(site, {0, size});
}

}  // namespace

const char* path_at(const nf_ring& ring, std::uint64_t place) {
  return place < NF_RING_TEXT ? ring.text + place : "";
}

unsigned walk_stack(Call, std::uint64_t* frames_out, unsigned max_count) {
  const auto count = static_cast<unsigned>(depth < max_count ? depth : max_count);
  for (unsigned i = 0; i < count; ++i) frames_out[i] = frames[i];
  return count;
}

// Recent calls are cached in the program itself, not here.
void store_recent_site(Call, std::uint16_t) {}

// The program reports its modules when they are loaded.
void map_modules() {}

void handle(const nf_ring& ring, const nf_ring_event& event) {
  const std::uint64_t* w = event.words;
  switch (event.kind) {
    case NF_RING_ACCESS:
      count_access({w[0], w[1], w[2], w[3] != 0, static_cast<std::uint16_t>(w[4])});
      break;
    case NF_RING_ALLOCATED:
      set_frames(ring, event, 3);
      this_thread.tag = w[2] == 0 ? 0 : runtime.strings.intern(path_at(ring, w[2]));
      block_allocated(w[0], w[1], 0, {});
      break;
    case NF_RING_FREED:
      freed_site = block_freed(w[0], w[1]);
      break;
    case NF_RING_KEPT:
      block_kept(w[0], w[1], freed_site);
      break;
    case NF_RING_MAPPED:
      set_frames(ring, event, 4);
      range_mapped(w[0], w[1], (w[2] & 1) != 0, w[3] == 0 ? nullptr : path_at(ring, w[3]),
                   w[2] / 2 * 4096, {});
      break;
    case NF_RING_UNMAPPED:
      range_unmapped(w[0], w[1]);
      break;
    case NF_RING_MOVED:
      range_moved(w[0], w[1], w[2], w[3]);
      break;
    case NF_RING_ACCESSIBLE:
      range_accessible(w[0], w[1]);
      break;
    case NF_RING_MODULE:
      add_module(ring, w);
      break;
    case NF_RING_SEGMENT:
      add_segment(ring, w);
      break;
    case NF_RING_NAMED:
      range_named(w[0], w[1], w[2] == 0 ? 0 : runtime.strings.intern(path_at(ring, w[2])));
      break;
    case NF_RING_PIECE:
      set_frames(ring, event, 3);
      this_thread.tag = runtime.strings.intern(path_at(ring, w[2]));
      piece_allocated(w[0], w[1], {});
      break;
    case NF_RING_LOOK:
      end_phase();
      break;
    case NF_RING_STACK:
      runtime.regions.fill({w[0], w[1], site_stack, false});
      break;
    default:
      break;
  }
}

}  // namespace nearfar::profile
