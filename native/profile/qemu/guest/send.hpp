// Sends events from the program into the ring.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "profile/qemu/ring.h"
#include "profile/runtime/process_file.hpp"

namespace nearfar::profile {

extern nf_ring* ring;

// While an instance exists, the plugin does not report this thread's accesses. It covers accesses
// of unwinding, and of a signal handler, which might wait for a slot that the interrupted call has
// taken.
class Muted {
 public:
  Muted();
  ~Muted();
  Muted(const Muted&) = delete;
  Muted& operator=(const Muted&) = delete;

 private:
  std::uint8_t* mute_;
};

void send(nf_ring_kind kind, std::initializer_list<std::uint64_t> words, unsigned depth = 0,
          const std::uint64_t* frames = nullptr);

// Returns the offset of a copy of `text` in the ring; 0 for none.
std::uint64_t text_of(const char* text);

// Waits until the reader has read everything sent so far.
void drain();

}  // namespace nearfar::profile
