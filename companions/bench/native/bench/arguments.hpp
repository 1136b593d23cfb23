// Arguments of one run: key=value, each declared by its kind with a default and a meaning.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace nearfar::bench {

struct Parameter {
  std::string name;
  std::string fallback;  // as it would be typed
  std::string meaning;   // with its unit
};

// `own` and those that every kind has: seed, threads, mode, memory, pool, pool_bytes.
std::vector<Parameter> with_common(std::vector<Parameter> own);

class Arguments {
 public:
  // Refuses words that are not key=value, and keys that `declared` does not have.
  Arguments(const std::vector<Parameter>& declared, const std::vector<std::string>& words);

  std::uint64_t count(const std::string& name);
  double number(const std::string& name);
  bool flag(const std::string& name);   // 0 or 1
  Bytes size(const std::string& name);  // 64, 4KiB, 2MiB, 1GiB
  std::string text(const std::string& name);
  // Refuses what is not one of `choices`.
  std::string text(const std::string& name, std::initializer_list<const char*> choices);
  std::string text(const std::string& name, const std::vector<std::string>& choices);

  [[nodiscard]] const std::map<std::string, std::string>& all() const { return values_; }
  // Declared and never asked for: the kind ignores them, which is a mistake of ours.
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  const std::string& value(const std::string& name);
  std::map<std::string, std::string> values_;
  std::set<std::string> read_;
};

// "; did you mean 'x'?" for the nearest of `valid`, or "; there are: ..." .
std::string nearest(const std::string& word, const std::vector<std::string>& valid);

}  // namespace nearfar::bench
