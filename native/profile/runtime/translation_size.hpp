// Number of entries of the processor's last-level TLB.
#pragma once

#include <cstdint>

namespace nearfar::profile {

struct TranslationSize {
  std::uint32_t entries;
  bool known;  // false: a typical size, not reported by the processor
};

TranslationSize translation_size();

}  // namespace nearfar::profile
