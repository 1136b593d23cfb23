#include "options.hpp"

#include <cstdlib>
#include <string>

namespace nearfar::pass {

namespace {
// 4096: one sampled line in 64 pages. At higher rates a profile of a few seconds has too few
// events.
constexpr unsigned max_rate_log2 = 12;
}  // namespace

Options read_options() {
  Options options;
  if (const char* text = std::getenv("NEARFAR_RATE_LOG2")) {
    const long value = std::strtol(text, nullptr, 10);
    if (value >= 0 && value <= static_cast<long>(max_rate_log2))
      options.rate_log2 = static_cast<unsigned>(value);
  }
  if (const char* text = std::getenv("NEARFAR_LOOPS")) options.loops = std::string(text) != "0";
  if (const char* text = std::getenv("NEARFAR_ONLY_LINES"))
    options.only_lines = std::string(text) == "1";
  if (options.every_access()) options.loops = false;
  return options;
}

}  // namespace nearfar::pass
