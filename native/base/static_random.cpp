// What a statically linked libstdc++ calls in place of glibc's arc4random, which is in 2.36 and
// newer: its strings pull std::random_device into every program.
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include <cstdint>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
    if (errno != EINTR) abort();
  }
  return value;
}
