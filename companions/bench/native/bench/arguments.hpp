// Arguments of a run: key=value, each declared by its kind with a default and a meaning.
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
  std::string fallback;  // as typed
  std::string meaning;   // with its unit
};

// Returns `own` and the parameters of every kind: seed, threads, mode, memory, pool, pool_bytes.
std::vector<Parameter> with_common(std::vector<Parameter> own);

class Arguments {
 public:
  // Throws BadArgument for words that are not key=value and for undeclared keys.
  Arguments(const std::vector<Parameter>& declared, const std::vector<std::string>& words);

  std::uint64_t count(const std::string& name);
  double number(const std::string& name);
  bool flag(const std::string& name);   // 0 or 1
  Bytes size(const std::string& name);  // 64, 4KiB, 2MiB, 1GiB
  std::string text(const std::string& name);
  // Throws BadArgument unless the value is one of `choices`.
  std::string text(const std::string& name, std::initializer_list<const char*> choices);
  std::string text(const std::string& name, const std::vector<std::string>& choices);

  [[nodiscard]] const std::map<std::string, std::string>& all() const { return values_; }
  // Declared arguments that were not read: the kind ignores them by mistake.
  [[nodiscard]] std::vector<std::string> unread() const;

 private:
  const std::string& value(const std::string& name);
  std::map<std::string, std::string> values_;
  std::set<std::string> read_;
};

// Returns "; did you mean 'x'?" for the nearest of `valid`, or "; available: ...".
std::string nearest(const std::string& word, const std::vector<std::string>& valid);

}  // namespace nearfar::bench
