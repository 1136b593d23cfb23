// STREAM's four kernels over arrays of doubles.
//   stream plain|pool copy|scale|add|triad ELEMENTS
// plain: as STREAM has them. pool: as STREAM-PMem has them: each access of an element turns a
// persistent pointer into an address, as libpmemobj's D_RW and D_RO do.
#include "kind.hpp"

// As in a library, these are seen from elsewhere: a compiler must load them for every access.
namespace pools {

// A pool and an offset in it, as PMEMoid is.
struct PersistentPointer {
  uint64_t pool, offset;
};

struct OpenPool {
  char* base;
  uint64_t id;
  int changes;
};

// libpmemobj keeps the pool that a thread used last, and a count that closing a pool changes.
thread_local OpenPool last_pool{nullptr, 0, 0};
int pool_changes = 0;
OpenPool opened{nullptr, 1, 0};

__attribute__((noinline)) char* look_up(uint64_t pool) {
  asm volatile("" ::: "memory");
  return pool == opened.id ? opened.base : nullptr;
}

inline double* direct(const PersistentPointer& pointer) {
  if (pointer.offset == 0 || pointer.pool == 0) return nullptr;
  if (pool_changes != last_pool.changes || last_pool.id != pointer.pool) {
    last_pool.changes = pool_changes;
    last_pool.base = look_up(pointer.pool);
    if (last_pool.base == nullptr) return nullptr;
    last_pool.id = pointer.pool;
  }
  return reinterpret_cast<double*>(last_pool.base + pointer.offset);
}

PersistentPointer pa, pb, pc;

}  // namespace pools

namespace {

using namespace pools;

void pool_kernel(const char* kernel, uint64_t n, double scalar) {
  if (strcmp(kernel, "copy") == 0)
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) direct(pc)[i] = direct(pa)[i];
    });
  else if (strcmp(kernel, "scale") == 0)
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) direct(pb)[i] = scalar * direct(pc)[i];
    });
  else if (strcmp(kernel, "add") == 0)
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) direct(pc)[i] = direct(pa)[i] + direct(pb)[i];
    });
  else
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) direct(pa)[i] = direct(pb)[i] + scalar * direct(pc)[i];
    });
}

void plain_kernel(const char* kernel, uint64_t n, double scalar, double* a, double* b, double* c) {
  if (strcmp(kernel, "copy") == 0)
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) {
        c[i] = a[i];
        asm volatile("" ::: "memory");  // stays a loop: no call of memcpy
      }
    });
  else if (strcmp(kernel, "scale") == 0)
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) b[i] = scalar * c[i];
    });
  else if (strcmp(kernel, "add") == 0)
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
    });
  else
    kind::measure(n, [&] {
      for (uint64_t i = 0; i < n; ++i) a[i] = b[i] + scalar * c[i];
    });
}

}  // namespace

int main(int argc, char** argv) {
  const bool in_pool = strcmp(kind::word(argc, argv, 1), "pool") == 0;
  const char* kernel = kind::word(argc, argv, 2);
  const uint64_t n = kind::number(argc, argv, 3);
  double* a = kind::array<double>("a", n);
  double* b = kind::array<double>("b", n);
  double* c = kind::array<double>("c", n);
  if (in_pool) {
    // Offsets from a base below all arrays, never 0.
    opened.base = reinterpret_cast<char*>(4096);
    const auto point = [](PersistentPointer& pointer, double* array) {
      pointer.pool = 1;
      pointer.offset = reinterpret_cast<uint64_t>(array) - 4096;
    };
    point(pa, a);
    point(pb, b);
    point(pc, c);
    pool_kernel(kernel, n, 3.0);
  } else {
    plain_kernel(kernel, n, 3.0, a, b, c);
  }
  kind::sink = static_cast<uint64_t>(a[n / 2] + b[n / 3] + c[n / 5]);
}
