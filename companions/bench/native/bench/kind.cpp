#include "bench/kind.hpp"

#include <map>

namespace nearfar::bench {
namespace {

std::map<std::string, Kind>& all() {
  static std::map<std::string, Kind> registry;
  return registry;
}

}  // namespace

Registered::Registered(Kind kind) {
  std::string name = kind.name;
  if (!all().emplace(name, std::move(kind)).second) {
    throw std::logic_error("two kinds have the name " + name);
  }
}

std::vector<const Kind*> kinds() {
  std::vector<const Kind*> registry;
  for (const auto& [name, kind] : all()) registry.push_back(&kind);
  return registry;
}

}  // namespace nearfar::bench
