#include "bench/kind.hpp"

#include <map>

namespace nearfar::bench {
namespace {

std::map<std::string, Kind>& all() {
  static std::map<std::string, Kind> found;
  return found;
}

}  // namespace

Registered::Registered(Kind kind) {
  std::string name = kind.name;
  if (!all().emplace(name, std::move(kind)).second) {
    throw std::logic_error("two kinds are called " + name);
  }
}

std::vector<const Kind*> kinds() {
  std::vector<const Kind*> found;
  for (const auto& [name, kind] : all()) found.push_back(&kind);
  return found;
}

}  // namespace nearfar::bench
