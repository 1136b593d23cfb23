// The standard library's maps, volatile, for comparison.
#include <map>
#include <unordered_map>

#include "bench/errors.hpp"
#include "bench/maps/map.hpp"

namespace nearfar::bench {
namespace {

template <typename Container>
class Standard final : public OwnedMap, public Map {
 public:
  explicit Standard(Elements elements) {
    if (elements.element_bytes != 0) {
      throw BadArgument("element: the standard library's maps support only 0");
    }
  }
  Map& map() override { return *this; }

  void put(std::uint64_t key, std::uint64_t value) override {
    container_.insert_or_assign(key, value);
  }
  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const override {
    const auto entry = container_.find(key);
    if (entry == container_.end()) return std::nullopt;
    return entry->second;
  }
  bool remove(std::uint64_t key) override { return container_.erase(key) != 0; }
  void foreach (const Visit& visit) const override {
    for (const auto& [key, value] : container_) visit(key, value);
  }
  void check() const override {}

 private:
  Container container_;
};

template <typename Container>
MapType standard(const std::string& name) {
  return {name, "of the standard library, volatile only",
          [](Elements elements) { return std::make_unique<Standard<Container>>(elements); }};
}

const RegisteredMap ordered{standard<std::map<std::uint64_t, std::uint64_t>>("std-map")};
const RegisteredMap hashed{
    standard<std::unordered_map<std::uint64_t, std::uint64_t>>("std-unordered-map")};

}  // namespace
}  // namespace nearfar::bench
