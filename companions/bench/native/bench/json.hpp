// Minimal JSON writer: objects and lists of text and numbers, on one line.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace nearfar::bench {

class Json {
 public:
  Json& open(char bracket) {
    comma();
    text_ += bracket;
    first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  Json& key(std::string_view name) {
    value(name);
    text_ += ':';
    first_ = true;
    return *this;
  }
  Json& value(std::string_view text) {
    comma();
    text_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        constexpr char hex[] = "0123456789abcdef";
        text_ += "\\u00";
        text_ += hex[static_cast<unsigned char>(c) >> 4U];
        text_ += hex[static_cast<unsigned char>(c) & 15U];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
    return *this;
  }
  Json& value(std::uint64_t number) {
    comma();
    text_ += std::to_string(number);
    return *this;
  }
  Json& value(double number) {
    comma();
    if (!std::isfinite(number)) {
      text_ += "null";
      return *this;
    }
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
    text_.append(digits, end);
    return *this;
  }
  template <typename T>
  Json& pair(std::string_view name, const T& field_value) {
    return key(name).value(field_value);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void comma() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  std::string text_;
  bool first_ = true;
};

}  // namespace nearfar::bench
