// The kinds of maps: `map`, and one `map-NAME` per map.
#pragma once

#include <string>

namespace nearfar::bench {

// Registers the kind map-NAME, whose pools can be checked, printed and driven.
void register_map_kind(const std::string& name, const std::string& meaning);

}  // namespace nearfar::bench
