// Mappings of a file, as the kernel lists them.
#pragma once

namespace nearfar::crash {

// Whether the file that is mapped at `begin` is mapped at another address too, where is_unused()
// does not hold. True also if the mappings are too many to tell.
bool is_mapped_elsewhere(const char* begin, bool (*is_unused)(const char* begin));

}  // namespace nearfar::crash
