// Allocates under tags, in every way of nearfar/alloc.h, from one line each.
#include <cstdio>
#include <memory_resource>
#include <vector>

#include "nearfar/alloc.h"

namespace {

constexpr std::size_t bytes = 4u << 20;

void* by_tag(const char* tag) {
  void* block = nearfar_xmalloc(tag, bytes);
  return block;
}

}  // namespace

int main() {
  char* near = static_cast<char*>(by_tag("cold"));
  char* far = static_cast<char*>(by_tag("warm"));
  std::vector<char, nearfar::allocator<char>> in_vector(bytes, 'v',
                                                        nearfar::allocator<char>("vector"));
  nearfar::memory_resource resource("resource");
  std::pmr::vector<char> in_resource(bytes, 'r', &resource);
  for (std::size_t i = 0; i < bytes; ++i) near[i] = far[i] = 'x';
  std::printf("%c%c%c%c\n", near[7], far[7], in_vector[7], in_resource[7]);
  nearfar_xfree(near);
  free(far);
  return 0;
}
