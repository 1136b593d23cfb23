// The program's tags of its allocations. A tag is identified by its offset in the ring's text.
#include <string.h>

#include "nearfar/mark.h"
#include "profile/qemu/guest/send.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

namespace {

// More tags than these are sent again at each use.
constexpr unsigned max_known = 256;
std::uint64_t known[max_known];
unsigned known_count = 0;
std::uint32_t lock_word = 0;

std::uint64_t place_of(const char* name) {
  Lock const lock(lock_word, thread_id());
  for (unsigned i = 0; i < known_count; ++i) {
    if (strcmp(ring->text + known[i], name) == 0) return known[i];
  }
  const std::uint64_t place = text_of(name);
  if (place != 0 && known_count < max_known) known[known_count++] = place;
  return place;
}

}  // namespace

}  // namespace nearfar::profile

extern "C" [[gnu::visibility("default")]] const char* nearfar_tag_set(const char* name) {
  using namespace nearfar::profile;
  if (!active()) return nullptr;
  Guard const guard;
  if (!guard) return nullptr;
  Muted const muted;
  const std::uint32_t before = this_thread.tag;
  const bool none = name == nullptr || *name == '\0';
  this_thread.tag = none ? 0 : static_cast<std::uint32_t>(place_of(name));
  return before == 0 ? nullptr : ring->text + before;
}

extern "C" [[gnu::visibility("default")]] void nearfar_arena(const char* name, const void* begin,
                                                             unsigned long bytes) {
  using namespace nearfar::profile;
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  if (!active() || bytes == 0 || !runtime.lines.any_in(address, bytes)) return;
  Guard const guard;
  if (!guard) return;
  Muted const muted;
  const bool none = name == nullptr || *name == '\0';
  send(NF_RING_NAMED, {address, bytes, none ? 0 : place_of(name)});
}
