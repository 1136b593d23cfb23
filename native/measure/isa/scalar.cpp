// Operations for every processor. Volatile keeps the compiler from dropping, merging or vectorising
// accesses.
#include "measure/isa/loops.hpp"

namespace nearfar::measure {
namespace {

struct Scalar {
  using Vector = std::uint64_t;
  static Vector load(const Vector* at) { return *static_cast<const volatile Vector*>(at); }
  static void store(Vector* at, Vector value) { *static_cast<volatile Vector*>(at) = value; }
  static void stream(Vector* at, Vector value) { store(at, value); }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector exclusive_or(Vector a, Vector b) { return a ^ b; }
  static Vector multiply(Vector a, Vector b) { return (a & 0xffffffffU) * (b & 0xffffffffU); }
  static Vector zero() { return 0; }
  static Vector set(std::uint64_t value) { return value; }
  static std::uint64_t sum(Vector all) { return all; }
};

constexpr Operations table = Loops<Scalar>::table("scalar", false);

}  // namespace

const Operations& scalar_operations() { return table; }

}  // namespace nearfar::measure
