// Throws WrongContent if an invariant of a map does not hold.
#pragma once

#include <string>

#include "bench/errors.hpp"

namespace nearfar::bench {

inline void require(bool holds, const char* invariant) {
  if (!holds) throw WrongContent(std::string("the map is broken: ") + invariant);
}

}  // namespace nearfar::bench
