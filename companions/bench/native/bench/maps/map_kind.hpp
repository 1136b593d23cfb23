// The kinds of maps: `map`, and `map-NAME` of each.
#pragma once

#include <string>

namespace nearfar::bench {

// Makes the kind map-NAME, whose pools can be checked, printed and driven.
void register_map_kind(const std::string& name, const std::string& meaning);

}  // namespace nearfar::bench
