// Mappings of a file, as the kernel lists them.
#pragma once

namespace nearfar::crash {

// Whether the file mapped at `begin` is also mapped at another address for which is_unused() is
// false. Returns true if there are too many mappings to decide.
bool is_mapped_elsewhere(const char* begin, bool (*is_unused)(const char* begin));

}  // namespace nearfar::crash
