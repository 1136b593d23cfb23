// The standard library's maps, volatile: what ours are measured beside.
#include <map>
#include <unordered_map>

#include "bench/errors.hpp"
#include "bench/maps/map.hpp"

namespace nearfar::bench {
namespace {

template <typename Container>
class Standard final : public HeldMap, public Map {
 public:
  explicit Standard(Elements elements) {
    if (elements.element_bytes != 0) {
      throw BadArgument("element: the standard library's maps are measured with 0 only");
    }
  }
  Map& map() override { return *this; }

  void put(std::uint64_t key, std::uint64_t value) override { held_.insert_or_assign(key, value); }
  [[nodiscard]] std::optional<std::uint64_t> get(std::uint64_t key) const override {
    const auto found = held_.find(key);
    if (found == held_.end()) return std::nullopt;
    return found->second;
  }
  bool remove(std::uint64_t key) override { return held_.erase(key) != 0; }
  void foreach (const Visit& visit) const override {
    for (const auto& [key, value] : held_) visit(key, value);
  }
  void check() const override {}

 private:
  Container held_;
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
