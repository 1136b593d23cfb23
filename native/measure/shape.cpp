#include "measure/shape.hpp"

#include <stdexcept>

namespace nearfar::measure {
namespace {

bool whole_lines(Bytes size) { return size.count % cache_line.count == 0; }

}  // namespace

void check(const Shape& shape) {
  if (shape.access < cache_line || !whole_lines(shape.access)) {
    throw std::invalid_argument("an access must be one or more whole lines of 64 bytes");
  }
  if (!whole_lines(shape.stride) || (shape.stride.count != 0 && shape.stride < shape.access)) {
    throw std::invalid_argument("a stride must be whole lines of 64 bytes, at least one access");
  }
  const Bytes step = std::max(shape.stride, shape.access);
  if (!whole_lines(shape.window) || (shape.window.count != 0 && shape.window < step)) {
    throw std::invalid_argument("a window must be whole lines of 64 bytes, at least one access");
  }
  // This form also refuses NaN.
  if (!(shape.read_share >= 0 && shape.read_share <= 1)) {
    throw std::invalid_argument("a read share must be between 0 and 1");
  }
  if (shape.fence_every == 0)
    throw std::invalid_argument("the accesses per fence must be at least 1");
}

}  // namespace nearfar::measure
