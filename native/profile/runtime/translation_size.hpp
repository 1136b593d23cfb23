// How many pages the processor's last translation cache knows.
#pragma once

#include <cstdint>

namespace nearfar::profile {

struct TranslationSize {
  std::uint32_t entries;
  bool known;  // false: the processor does not say, and this is a usual size
};

TranslationSize translation_size();

}  // namespace nearfar::profile
