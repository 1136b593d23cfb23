#include "profile/runtime/strings.hpp"

#include <string.h>

#include "profile/runtime/locks.hpp"
#include "profile/runtime/os.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

void Strings::attach(ProcessHeader& header) {
  text_ = records<char>(header, header.strings);
  table_ = &header.strings;
  known_ = static_cast<Known*>(reserve_memory(known_size * sizeof(Known)));
}

std::uint32_t Strings::intern(const char* text) {
  if (text == nullptr || *text == '\0') return 0;
  if (text > text_ && text < text_ + table_->used) return static_cast<std::uint32_t>(text - text_);
  Lock const lock(lock_, thread_id());
  const auto hash = (reinterpret_cast<std::uintptr_t>(text) * 0x9E3779B97F4A7C15ull) >> 48;
  Known* known = known_ == nullptr ? nullptr : &known_[hash % known_size];
  // The address may contain another text by now, because its module was closed.
  if (known != nullptr && known->text == text && strcmp(text_ + known->offset, text) == 0) {
    return known->offset;
  }
  const std::uint64_t size = strlen(text) + 1;
  if (table_->used + size > table_->capacity) {
    ++table_->lost;
    return 0;
  }
  const std::uint32_t offset = table_->used;
  memcpy(text_ + offset, text, size);
  table_->used = static_cast<std::uint32_t>(offset + size);
  if (known != nullptr) *known = {text, offset};
  return offset;
}

}  // namespace nearfar::profile
