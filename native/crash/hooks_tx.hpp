// What the hooks of libpmemobj share. Its headers are not needed to build: its functions are
// declared here by what they take, and found when the program has them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/hooks.hpp"
#include "crash/recorder.hpp"

namespace nearfar::crash {

// PMEMoid.
struct Oid {
  std::uint64_t pool;
  std::uint64_t offset;
};

// Instead of an offset: not in the pool that is explored.
constexpr std::uint64_t elsewhere = UINT64_MAX;

inline void tell(nf_crash_kind kind, std::uint64_t a, std::uint64_t b, const Stack& stack,
                 std::uint32_t c = 0, const void* payload = nullptr, std::size_t bytes = 0) {
  Lock const lock;
  if (!recording()) return;
  sweep();
  append(kind, a, b, &stack, payload, static_cast<std::uint32_t>(bytes), c);
}

inline std::uint64_t offset_of(const void* address) {
  Lock const lock;
  const Mapping* mapping = recording() ? mapping_of(address) : nullptr;
  if (mapping == nullptr) return elsewhere;
  return mapping->offset +
         static_cast<std::uint64_t>(static_cast<const char*>(address) - mapping->begin);
}

// Where an object is in this process, or null.
inline const char* direct(Oid object, std::uint64_t begin = 0) {
  if (object.offset == 0) return nullptr;
  NEARFAR_NEXT_AS(const char* (*)(Oid), pmemobj_direct);
  const char* const found = real == nullptr ? nullptr : real(object);
  return found == nullptr ? nullptr : found + begin;
}

inline std::uint64_t offset_of(Oid object) {
  const char* const found = direct(object);
  return found == nullptr ? elsewhere : offset_of(found);
}

}  // namespace nearfar::crash
