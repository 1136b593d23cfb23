// Copies strings at random: assignment is the C++ library's own code, which no pass sees.
#include <cstdio>
#include <string>
#include <vector>

#include "nearfar/mark.h"

int main() {
  constexpr unsigned count = 100'000;
  constexpr unsigned copies = 400'000;
  std::vector<std::string> strings;
  strings.reserve(count);
  for (unsigned i = 0; i < count; ++i) strings.emplace_back(60, static_cast<char>('a' + i % 26));
  NEARFAR_BEGIN("copy");
  std::string copy;
  unsigned long state = 1;
  unsigned long sum = 0;
  for (unsigned i = 0; i < copies; ++i) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    copy = strings[(state >> 33) % count];
    sum += copy.size();
  }
  NEARFAR_END("copy", copies);
  std::printf("%lu\n", sum);
  return 0;
}
