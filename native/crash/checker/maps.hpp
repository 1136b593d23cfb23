// Private mappings of the image, so that a checker's changes vanish with them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfar::crash {

struct Map {
  char* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
  int protection = 0;   // as the checker requested it
  bool hidden = false;  // the checker unmapped it
};

// Copies of the image's mappings that are private, hidden ones included.
const Map* first_map();
const Map* end_of_maps();
const Map* map_of(const void* address);
// Returns whether the checker has any mapping of the image now; `image` is this library's own
// mapping.
bool is_mapped(const char* image);

// Turns private mappings on or off. If off, the image is mapped as the checker requests.
void keep_private(bool on);
bool keeps_private();
// Removes hidden mappings.
void forget_maps();
// From now on, read-only mappings of the image stay mapped for the next check: mapping a pool and
// its page faults can take longer than a check.
void keep_read_only_maps();
// 1 if the checker started another program, which may have changed the image's file.
extern unsigned* may_have_changed;
// 1 if a check moved a mapping of the image, which cannot be tracked.
extern unsigned* never_track;

}  // namespace nearfar::crash
