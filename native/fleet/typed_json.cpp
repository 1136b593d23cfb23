#include "fleet/typed_json.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace nearfar::fleet {

namespace {

constexpr std::size_t first_bytes = 1 << 20;  // More than most profiles need.

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// A number of JSON's grammar.
struct Digits {
  const char* end = nullptr;  // Null: there is none.
  std::uint64_t all = 0;      // Its digits, if `exact`.
  int after_point = 0;
  bool negative = false;
  bool exact = true;  // All digits fit, and there is no exponent.
  bool whole = true;  // It has neither point nor exponent.
};

constexpr int most_digits = 18;  // They fit into 64 bits, with sign.

Digits digits_of(const char* at) {
  Digits result;
  result.negative = *at == '-';
  if (result.negative) ++at;
  if (!is_digit(*at)) return result;
  const char* first = at;
  if (*at == '0') {
    ++at;
  } else {
    for (; is_digit(*at); ++at) result.all = 10 * result.all + static_cast<unsigned>(*at - '0');
  }
  std::ptrdiff_t count = at - first;
  if (*at == '.') {
    const char* point = at++;
    if (!is_digit(*at)) return result;
    for (; is_digit(*at); ++at) result.all = 10 * result.all + static_cast<unsigned>(*at - '0');
    result.after_point = static_cast<int>(std::min<std::ptrdiff_t>(at - point - 1, most_digits));
    count += at - point - 1;
    result.whole = false;
  }
  result.exact = count <= most_digits;
  if (*at == 'e' || *at == 'E') {
    ++at;
    if (*at == '+' || *at == '-') ++at;
    if (!is_digit(*at)) return result;
    while (is_digit(*at)) ++at;
    result.exact = result.whole = false;
  }
  result.end = at;
  return result;
}

// Powers of ten that a double holds exactly.
constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                             1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

}  // namespace

std::string unescaped(const Value& text) {
  const std::string_view raw = text.text();
  if (!text.escaped) return std::string(raw);
  std::string result;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      result += raw[i];
      continue;
    }
    const char letter = raw[++i];
    result += letter == 'n' ? '\n' : letter == 't' ? '\t' : letter;
  }
  return result;
}

Reader::Reader(std::vector<Type> types)
    : types_(std::move(types)),
      first_buffer_(first_bytes),
      memory_(first_buffer_.data(), first_buffer_.size()) {
  const auto check = [&](std::uint32_t index) {
    if (index >= types_.size()) throw std::invalid_argument("there is no type of this index");
  };
  check(0);
  for (const Type& type : types_) {
    check(type.inner);
    for (const Field& field : type.fields) check(field.type);
  }
}

const Value* Reader::read(std::string_view json, bool plain) {
  if (json.size() > std::numeric_limits<std::uint32_t>::max()) return nullptr;
  memory_.release();
  open_.clear();
  document_ = Value();
  at_ = json.data();
  end_ = at_ + json.size();
  plain_ = plain;
  skip_space();
  if (!value(types_.front(), document_)) return nullptr;
  skip_space();
  return at_ == end_ ? &document_ : nullptr;
}

bool Reader::value(const Type& type, Value& out) {
  if (*at_ == 'n') {
    out.state = State::null;
    return type.nullable && word("null");
  }
  out.state = State::given;
  switch (type.kind) {
    case Kind::record:
      return record(type, out);
    case Kind::list:
    case Kind::table:
      return items(type, out);
    case Kind::number:
      return number(type, out);
    case Kind::whole:
      return whole(type, out);
    case Kind::text:
      return text(out) &&
             (type.allowed.empty() || std::find(type.allowed.begin(), type.allowed.end(),
                                                out.text()) != type.allowed.end());
    case Kind::flag:
      out.whole = *at_ == 't' ? 1 : 0;
      return word(out.whole != 0 ? "true" : "false");
  }
  return false;
}

bool Reader::record(const Type& type, Value& out) {
  if (!token('{')) return false;
  const std::size_t count = type.fields.size();
  Value* values = allocated(count);
  out.items = values;
  out.count = static_cast<std::uint32_t>(count);
  std::size_t next = 0;
  for (bool first = true; *at_ != '}'; first = false) {
    if (!first && !token(',')) return false;
    if (*at_ != '"') return false;
    ++at_;
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    const auto is_next = [&](const Field& field) { return rest.starts_with(field.key); };
    // Fields mostly come in the order of the type.
    if (next >= count || !is_next(type.fields[next])) {
      const auto found = std::find_if(type.fields.begin(), type.fields.end(), is_next);
      if (found == type.fields.end()) return false;
      next = static_cast<std::size_t>(found - type.fields.begin());
    }
    const Field& field = type.fields[next];
    if (values[next].state != State::absent) return false;
    at_ += field.key.size();
    skip_space();
    if (!token(':') || !value(types_[field.type], values[next])) return false;
    skip_space();
    ++next;
  }
  ++at_;
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i].state == State::absent && type.fields[i].required) return false;
  }
  return true;
}

bool Reader::items(const Type& type, Value& out) {
  const bool keyed = type.kind == Kind::table;
  const char end = keyed ? '}' : ']';
  if (!token(keyed ? '{' : '[')) return false;
  const Type& inner = types_[type.inner];
  const std::size_t begin = open_.size();
  for (bool first = true; *at_ != end; first = false) {
    if (!first && !token(',')) return false;
    Value item;
    if (keyed && !key(item)) return false;
    if (!value(inner, item)) return false;
    open_.push_back(item);
    skip_space();
  }
  ++at_;
  out.count = static_cast<std::uint32_t>(open_.size() - begin);
  out.items = kept(begin);
  return true;
}

bool Reader::key(Value& out) {
  if (!text(out)) return false;
  skip_space();
  return token(':');
}

bool Reader::number(const Type& type, Value& out) {
  const Digits digits = digits_of(at_);
  if (digits.end == nullptr) return false;
  double read = 0;
  if (digits.exact && digits.all <= std::uint64_t{1} << 53) {
    // Both are exact, so their quotient is the nearest double.
    read = static_cast<double>(digits.all) / powers[digits.after_point];
    if (digits.negative) read = -read;
  } else if (std::from_chars(at_, digits.end, read).ec != std::errc()) {
    return false;
  }
  at_ = digits.end;
  out.number = read;
  return read <= type.high && (type.above ? read > type.low : read >= type.low);
}

bool Reader::whole(const Type& type, Value& out) {
  const Digits digits = digits_of(at_);
  if (digits.end == nullptr || !digits.whole) return false;
  if (digits.exact) {
    out.whole = static_cast<std::int64_t>(digits.all);
    if (digits.negative) out.whole = -out.whole;
  } else if (std::from_chars(at_, digits.end, out.whole).ec != std::errc()) {
    return false;
  }
  at_ = digits.end;
  return out.whole >= type.least && out.whole <= type.most;
}

bool Reader::text(Value& out) {
  if (*at_ != '"') return false;
  const char* start = ++at_;
  bool escaped = false;
  for (;; ++at_) {
    const auto letter = static_cast<unsigned char>(*at_);
    if (letter == '"') break;
    if (letter < 0x20 || letter == 0x7f || (letter > 0x7f && !plain_)) return false;
    if (letter == '\\') {
      escaped = true;
      ++at_;
      if (*at_ != '"' && *at_ != '\\' && *at_ != 'n' && *at_ != 't') return false;
    }
  }
  out.start = start;
  out.count = static_cast<std::uint32_t>(at_ - start);
  out.escaped = escaped;
  ++at_;
  return true;
}

bool Reader::word(std::string_view expected) {
  if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(expected)) {
    return false;
  }
  at_ += expected.size();
  return true;
}

// Moves the items from `first` on to where they stay.
const Value* Reader::kept(std::size_t first) {
  const std::size_t count = open_.size() - first;
  Value* items = allocated(count);
  std::copy(open_.begin() + static_cast<std::ptrdiff_t>(first), open_.end(), items);
  open_.resize(first);
  return items;
}

Value* Reader::allocated(std::size_t count) {
  auto* values = static_cast<Value*>(memory_.allocate(count * sizeof(Value), alignof(Value)));
  std::uninitialized_value_construct_n(values, count);
  return values;
}

}  // namespace nearfar::fleet
