// Definitions shared by the hooks of libpmemobj. The library's headers are not needed to build: its
// functions are declared here and looked up at run time.
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

// Replaces an offset if the object is not in the explored pool.
constexpr std::uint64_t outside_pool = UINT64_MAX;

inline void record_event(nf_crash_kind kind, std::uint64_t a, std::uint64_t b, const Stack& stack,
                         std::uint32_t c = 0, const void* payload = nullptr,
                         std::size_t bytes = 0) {
  Lock const lock;
  if (!recording()) return;
  record_pending();
  append(kind, a, b, &stack, payload, static_cast<std::uint32_t>(bytes), c);
}

inline std::uint64_t offset_of(const void* address) {
  Lock const lock;
  const Mapping* mapping = recording() ? mapping_of(address) : nullptr;
  if (mapping == nullptr) return outside_pool;
  return mapping->offset +
         static_cast<std::uint64_t>(static_cast<const char*>(address) - mapping->begin);
}

// Returns an object's address in this process, or null.
inline const char* direct(Oid object, std::uint64_t begin = 0) {
  if (object.offset == 0) return nullptr;
  NEARFAR_NEXT_AS(const char* (*)(Oid), pmemobj_direct);
  const char* const address = real == nullptr ? nullptr : real(object);
  return address == nullptr ? nullptr : address + begin;
}

inline std::uint64_t offset_of(Oid object) {
  const char* const address = direct(object);
  return address == nullptr ? outside_pool : offset_of(address);
}

}  // namespace nearfar::crash
