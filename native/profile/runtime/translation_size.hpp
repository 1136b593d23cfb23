// Number of entries of the processor's last-level TLB.
#pragma once

#include <cstdint>

namespace nearfar::profile {

struct TranslationSize {
  std::uint32_t entries;
  bool known;  // false: not reported by the processor; a usual size
};

TranslationSize translation_size();

}  // namespace nearfar::profile
