// JSON of a known shape, read in one pass.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace nearfar::fleet {

enum class Kind : std::uint8_t { record, list, table, number, whole, text, flag };

struct Field {
  std::string key;  // With the quote that ends it.
  std::uint32_t type = 0;
  bool required = false;
};

// The type of a value; other types are named by their index in the list of all.
struct Type {
  Kind kind = Kind::record;
  bool nullable = false;
  // Of a number or whole; `above`: `low` itself is excluded.
  double low = 0;
  double high = 0;
  bool above = false;
  std::int64_t least = 0;
  std::int64_t most = 0;
  // Of a record.
  std::vector<Field> fields;
  // Of a text; empty: any.
  std::vector<std::string> allowed;
  // Of a list's items and a table's values.
  std::uint32_t inner = 0;
};

enum class State : std::uint8_t { absent, null, given };

struct Value {
  union {
    std::int64_t whole = 0;
    double number;
    const char* start;
    const Value* items;
  };
  // Bytes of a text, items of a list or table, fields of a record.
  std::uint32_t count = 0;
  State state = State::absent;
  // Whether a text has escapes.
  bool escaped = false;

  std::string_view text() const { return {start, count}; }
  const Value& operator[](std::size_t index) const { return items[index]; }
  const Value* begin() const { return items; }
  const Value* end() const { return items + count; }
};

// Returns a text whose escapes, those that `Reader` accepts, are resolved.
std::string unescaped(const Value& text);

class Reader {
 public:
  // The first type is that of whole documents. Throws std::invalid_argument for an unknown index.
  explicit Reader(std::vector<Type> types);

  // Returns a document, valid until the next call; null unless the JSON certainly is one. What is
  // allowed but unusual is refused too: escapes of control characters, fields given twice, numbers
  // out of a double's range, whole numbers with a point, and, unless `plain`, letters beyond ASCII.
  // `json` ends with a zero byte that does not belong to it.
  const Value* read(std::string_view json, bool plain);

  const std::vector<Type>& types() const { return types_; }

 private:
  bool value(const Type& type, Value& out);
  bool record(const Type& type, Value& out);
  // Reads a list, or a table, whose keys are not kept.
  bool items(const Type& type, Value& out);
  bool key(Value& out);
  bool number(const Type& type, Value& out);
  bool whole(const Type& type, Value& out);
  bool text(Value& out);
  bool word(std::string_view expected);
  // Takes a sign and the space after it.
  bool token(char expected) {
    if (*at_ != expected) return false;
    ++at_;
    skip_space();
    return true;
  }
  void skip_space() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r') ++at_;
  }
  const Value* kept(std::size_t first);
  Value* allocated(std::size_t count);

  std::vector<Type> types_;
  std::vector<char> first_buffer_;
  std::pmr::monotonic_buffer_resource memory_;
  // Items of lists that are not complete.
  std::vector<Value> open_;
  Value document_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool plain_ = false;
};

}  // namespace nearfar::fleet
