// Python module nearfar._fleet: the rows of a fleet's objects, from the JSON of profiles.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fleet/profile_rows.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace nearfar::fleet;

namespace {

using Fields = std::vector<std::tuple<std::string, std::uint32_t, bool>>;

template <class T>
using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Copies values into a numpy array.
template <class Element, class Values>
Column<Element> column_of(const Values& values) {
  auto* owned = new std::vector<Element>(values.begin(), values.end());
  const nb::capsule owner(owned,
                          [](void* p) noexcept { delete static_cast<std::vector<Element>*>(p); });
  return Column<Element>(owned->data(), {owned->size()}, owner);
}

Kind kind_of(const std::string& name) {
  constexpr const char* names[] = {"record", "list", "table", "number", "whole", "text", "flag"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (name == names[i]) return static_cast<Kind>(i);
  }
  throw std::invalid_argument("there is no kind of type " + name);
}

}  // namespace

NB_MODULE(_fleet, m) {
  nb::set_leak_warnings(false);  // main() ends without a search for cycles
  nb::class_<Type>(m, "Type").def(
      "__init__",
      [](Type* type, const std::string& kind, bool nullable, double low, double high, bool above,
         std::int64_t least, std::int64_t most, const Fields& fields,
         std::vector<std::string> allowed, std::uint32_t inner) {
        std::vector<Field> all;
        for (const auto& [name, index, required] : fields) {
          all.push_back({name + '"', index, required});
        }
        new (type) Type{kind_of(kind), nullable,           low,  high, above, least, most,
                        all,           std::move(allowed), inner};
      },
      "kind"_a, nb::kw_only(), "nullable"_a = false, "low"_a = 0.0, "high"_a = 0.0,
      "above"_a = false, "least"_a = 0, "most"_a = 0, "fields"_a = Fields(),
      "allowed"_a = std::vector<std::string>(), "inner"_a = 0,
      "The type of a JSON value. `fields`: name, index of the type, whether it must be there.");
  nb::class_<Head>(m, "Head")
      .def_ro("host", &Head::host)
      .def_ro("time_utc", &Head::time_utc)
      .def_ro("command", &Head::command)
      .def_ro("cpu_model", &Head::cpu_model)
      .def_ro("executable", &Head::executable)
      .def_ro("near_ns", &Head::near_ns)
      .def_ro("bytes", &Head::bytes)
      .def_ro("objects", &Head::objects);
  // A copy has an owner already.
  constexpr auto owned = nb::rv_policy::automatic;
  nb::class_<ObjectColumns>(m, "ObjectColumns")
      .def_prop_ro(
          "names", [](const ObjectColumns& all) { return column_of<std::uint8_t>(all.names); },
          owned)
      .def_prop_ro(
          "name_begins",
          [](const ObjectColumns& all) { return column_of<std::int64_t>(all.name_begins); }, owned)
      .def_prop_ro(
          "bytes", [](const ObjectColumns& all) { return column_of<std::int64_t>(all.bytes); },
          owned)
      .def_prop_ro(
          "chase", [](const ObjectColumns& all) { return column_of<double>(all.chase); }, owned)
      .def_prop_ro(
          "independent",
          [](const ObjectColumns& all) { return column_of<double>(all.independent); }, owned)
      .def_prop_ro(
          "stream", [](const ObjectColumns& all) { return column_of<double>(all.stream); }, owned)
      .def_prop_ro(
          "write_back", [](const ObjectColumns& all) { return column_of<double>(all.write_back); },
          owned);
  nb::class_<ProfileRows>(m, "ProfileRows")
      .def(nb::init<std::vector<Type>, std::string, std::int64_t, double, std::int64_t>(),
           "types"_a, "kind"_a, "version"_a, "most"_a, "most_bytes"_a,
           "`types`: of a document's fields, the document's own first.")
      .def(
          "add",
          [](ProfileRows& rows, const nb::bytes& json, bool plain) {
            return rows.add({json.c_str(), json.size()}, plain);
          },
          "json"_a, nb::kw_only(), "plain"_a = false,
          "Add a profile's objects; None, and nothing is added, unless it certainly is valid. "
          "`plain`: it was read and written again, so its letters may be beyond ASCII.")
      .def_prop_ro("columns", &ProfileRows::columns, nb::rv_policy::reference_internal);
}
