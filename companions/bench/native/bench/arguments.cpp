#include "bench/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "bench/errors.hpp"

namespace nearfar::bench {
namespace {

std::size_t distance(const std::string& a, const std::string& b) {  // Levenshtein
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

template <typename Number>
bool parse(std::string_view text, Number& into) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, into);
  return error == std::errc{} && stopped == end && !text.empty();
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& valid) {
  const std::string* best = nullptr;
  // Farther than half of it is no slip of the finger.
  std::size_t least = std::max<std::size_t>(word.size() / 2 + 1, 2);
  for (const std::string& each : valid) {
    if (const std::size_t found = distance(word, each); found < least) {
      least = found;
      best = &each;
    }
  }
  if (best != nullptr) return "; did you mean '" + *best + "'?";
  std::string all;
  for (const std::string& each : valid) all += (all.empty() ? "; there are: " : ", ") + each;
  return all;
}

std::vector<Parameter> with_common(std::vector<Parameter> own) {
  const Parameter common[] = {
      {"seed", "1", "seed of everything that is chosen at random"},
      {"threads", "1", "threads that run operations at the same time"},
      {"mode", "time",
       "time; latency: every operation is timed; count: under the counting preload"},
      {"memory", "volatile", "volatile, or pool: a file mapped by libpmem or libpmemobj"},
      {"pool", "", "path of the pool; it is made, and removed at the end"},
      {"pool_bytes", "0", "size of the pool; 0: as much as the content needs"},
  };
  own.insert(own.end(), std::begin(common), std::end(common));
  return own;
}

Arguments::Arguments(const std::vector<Parameter>& declared,
                     const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const Parameter& each : declared) {
    values_[each.name] = each.fallback;
    names.push_back(each.name);
  }
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      throw BadArgument("cannot read '" + word + "': arguments are key=value");
    }
    const std::string name = word.substr(0, equals);
    const auto found = values_.find(name);
    if (found == values_.end()) {
      throw BadArgument("there is no argument '" + name + "'" + nearest(name, names));
    }
    found->second = word.substr(equals + 1);
  }
}

const std::string& Arguments::value(const std::string& name) {
  read_.insert(name);
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::logic_error(name + " is read and not declared");
  return found->second;
}

std::uint64_t Arguments::count(const std::string& name) {
  std::uint64_t number = 0;
  const std::string& given = value(name);
  if (!parse(given, number)) {
    throw BadArgument(name + "=" + given + " is not a whole number of 0 or more");
  }
  return number;
}

double Arguments::number(const std::string& name) {
  double number = 0;
  const std::string& given = value(name);
  if (!parse(given, number) || !std::isfinite(number)) {
    throw BadArgument(name + "=" + given + " is not a number");
  }
  return number;
}

bool Arguments::flag(const std::string& name) { return text(name, {"0", "1"}) == "1"; }

Bytes Arguments::size(const std::string& name) {
  const std::string& given = value(name);
  const std::size_t letters = std::min(given.find_first_not_of("0123456789"), given.size());
  const std::string unit = given.substr(letters);
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  unsigned shift = 0;
  if (!unit.empty()) {
    const auto* const found = std::find(std::begin(units), std::end(units), unit);
    if (found == std::end(units)) {
      throw BadArgument(name + "=" + given + " is not a size: write bytes, or 4KiB, 2MiB, 1GiB");
    }
    shift = 10 * static_cast<unsigned>(found - std::begin(units));
  }
  std::uint64_t number = 0;
  if (!parse(std::string_view(given).substr(0, letters), number) || number > (1ULL << 50U)) {
    throw BadArgument(name + "=" + given + " is not a size: write bytes, or 4KiB, 2MiB, 1GiB");
  }
  return {number << shift};
}

std::string Arguments::text(const std::string& name) { return value(name); }

std::string Arguments::text(const std::string& name, std::initializer_list<const char*> choices) {
  return text(name, std::vector<std::string>(choices.begin(), choices.end()));
}

std::string Arguments::text(const std::string& name, const std::vector<std::string>& choices) {
  const std::string& given = value(name);
  if (std::find(choices.begin(), choices.end(), given) == choices.end()) {
    throw BadArgument(name + "=" + given + " is not possible" + nearest(given, choices));
  }
  return given;
}

std::vector<std::string> Arguments::unread() const {
  std::vector<std::string> found;
  for (const auto& [name, text] : values_) {
    if (!read_.contains(name)) found.push_back(name);
  }
  return found;
}

}  // namespace nearfar::bench
