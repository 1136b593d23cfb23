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
bool parse(std::string_view text, Number& result) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, result);
  return error == std::errc{} && stopped == end && !text.empty();
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& valid) {
  const std::string* best = nullptr;
  // A larger distance than half the word is no typing mistake.
  std::size_t best_distance = std::max<std::size_t>(word.size() / 2 + 1, 2);
  for (const std::string& candidate : valid) {
    if (const std::size_t current = distance(word, candidate); current < best_distance) {
      best_distance = current;
      best = &candidate;
    }
  }
  if (best != nullptr) return "; did you mean '" + *best + "'?";
  std::string all;
  for (const std::string& candidate : valid)
    all += (all.empty() ? "; available: " : ", ") + candidate;
  return all;
}

std::vector<Parameter> with_common(std::vector<Parameter> own) {
  const Parameter common[] = {
      {"seed", "1", "seed of all random choices"},
      {"threads", "1", "threads that run operations at the same time"},
      {"mode", "time", "time; latency: every operation is timed; count: with the counting preload"},
      {"memory", "volatile", "volatile, or pool: a file mapped by libpmem or libpmemobj"},
      {"pool", "", "path of the pool, which is created and removed at the end"},
      {"pool_bytes", "0", "size of the pool; 0: as large as the content needs"},
  };
  own.insert(own.end(), std::begin(common), std::end(common));
  return own;
}

Arguments::Arguments(const std::vector<Parameter>& declared,
                     const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const Parameter& parameter : declared) {
    values_[parameter.name] = parameter.fallback;
    names.push_back(parameter.name);
  }
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      throw BadArgument("cannot read '" + word + "': arguments are key=value");
    }
    const std::string name = word.substr(0, equals);
    const auto entry = values_.find(name);
    if (entry == values_.end()) {
      throw BadArgument("there is no argument '" + name + "'" + nearest(name, names));
    }
    entry->second = word.substr(equals + 1);
  }
}

const std::string& Arguments::value(const std::string& name) {
  read_.insert(name);
  const auto entry = values_.find(name);
  if (entry == values_.end()) throw std::logic_error(name + " is read but not declared");
  return entry->second;
}

std::uint64_t Arguments::count(const std::string& name) {
  std::uint64_t number = 0;
  const std::string& value_text = value(name);
  if (!parse(value_text, number)) {
    throw BadArgument(name + "=" + value_text + " is not a whole number >= 0");
  }
  return number;
}

double Arguments::number(const std::string& name) {
  double number = 0;
  const std::string& value_text = value(name);
  if (!parse(value_text, number) || !std::isfinite(number)) {
    throw BadArgument(name + "=" + value_text + " is not a number");
  }
  return number;
}

bool Arguments::flag(const std::string& name) { return text(name, {"0", "1"}) == "1"; }

Bytes Arguments::size(const std::string& name) {
  const std::string& value_text = value(name);
  const std::size_t letters =
      std::min(value_text.find_first_not_of("0123456789"), value_text.size());
  const std::string unit = value_text.substr(letters);
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  unsigned shift = 0;
  if (!unit.empty()) {
    const auto* const found = std::find(std::begin(units), std::end(units), unit);
    if (found == std::end(units)) {
      throw BadArgument(name + "=" + value_text +
                        " is not a size: write 64 (bytes), 4KiB, 2MiB, 1GiB");
    }
    shift = 10 * static_cast<unsigned>(found - std::begin(units));
  }
  std::uint64_t number = 0;
  if (!parse(std::string_view(value_text).substr(0, letters), number) || number > (1ULL << 50U)) {
    throw BadArgument(name + "=" + value_text +
                      " is not a size: write 64 (bytes), 4KiB, 2MiB, 1GiB");
  }
  return {number << shift};
}

std::string Arguments::text(const std::string& name) { return value(name); }

std::string Arguments::text(const std::string& name, std::initializer_list<const char*> choices) {
  return text(name, std::vector<std::string>(choices.begin(), choices.end()));
}

std::string Arguments::text(const std::string& name, const std::vector<std::string>& choices) {
  const std::string& value_text = value(name);
  if (std::find(choices.begin(), choices.end(), value_text) == choices.end()) {
    throw BadArgument(name + "=" + value_text + " is not possible" + nearest(value_text, choices));
  }
  return value_text;
}

std::vector<std::string> Arguments::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, text] : values_) {
    if (!read_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace nearfar::bench
