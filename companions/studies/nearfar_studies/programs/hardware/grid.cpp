// The NAS benchmarks on grids in kind: the arrays and loops over them that one process of
// NPB 3.4-MPI has, in their order; what is computed at a point is a sum.
//   grid bt|sp|lu|ft|mg X Y Z
// X, Y, Z: points of the process's part, x next to each other.
#include <initializer_list>
#include <utility>
#include <vector>

#include "kind.hpp"

namespace {

struct Box {
  uint64_t x, y, z;
  uint64_t points() const { return x * y * z; }
  uint64_t row(uint64_t j, uint64_t k) const { return (k * y + j) * x; }
};

struct Field {  // `width` doubles a point
  double* at;
  uint64_t width;
};

using Fields = std::initializer_list<Field>;

Field field(const Box& box, uint64_t width) {
  return {kind::array<double>("grid", box.points() * width), width};
}

// Adds the values of `count` points from `first` on to their sums.
void add(const Field& from, uint64_t first, uint64_t count, double* sums) {
  const double* values = from.at + first * from.width;
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t w = 0; w < from.width; ++w) sums[i] += values[i * from.width + w];
}

void update(const Field& to, uint64_t first, uint64_t count, const double* sums) {
  double* values = to.at + first * to.width;
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t w = 0; w < to.width; ++w)
      values[i * to.width + w] = 0.5 * values[i * to.width + w] + sums[i];
}

void write(const Field& to, uint64_t first, uint64_t count, const double* sums) {
  double* values = to.at + first * to.width;
  for (uint64_t i = 0; i < count; ++i)
    for (uint64_t w = 0; w < to.width; ++w) values[i * to.width + w] = sums[i];
}

struct Loop {
  Fields reads;        // at the point and its neighbours in a plane
  Fields updates;      // read and written
  Fields writes;       // written only
  Fields planes = {};  // read in the planes below and above too
};

void run(const Box& box, const Loop& loop) {
  std::vector<double> sums(box.x);
  for (uint64_t k = 0; k < box.z; ++k)
    for (uint64_t j = 0; j < box.y; ++j) {
      const uint64_t here = box.row(j, k);
      for (double& sum : sums) sum = 0.0;
      for (const Field& from : loop.reads) add(from, here, box.x, sums.data());
      for (const Field& from : loop.planes) {
        add(from, here, box.x, sums.data());
        if (k > 0) add(from, box.row(j, k - 1), box.x, sums.data());
        if (k + 1 < box.z) add(from, box.row(j, k + 1), box.x, sums.data());
      }
      for (const Field& to : loop.updates) update(to, here, box.x, sums.data());
      for (const Field& to : loop.writes) write(to, here, box.x, sums.data());
    }
}

// BT: compute_rhs, then for x, y, z: a block-tridiagonal elimination that keeps one block of each
// point, and the substitution back.
void bt(const Box& box) {
  const Field u = field(box, 5), rhs = field(box, 5), forcing = field(box, 5);
  const Field us = field(box, 1), vs = field(box, 1), ws = field(box, 1), qs = field(box, 1),
              rho = field(box, 1), square = field(box, 1), lhs = field(box, 25);
  kind::measure(box.points(), [&] {
    run(box, {{u}, {}, {us, vs, ws, qs, rho, square}});
    run(box, {{forcing}, {}, {rhs}});
    for (int direction = 0; direction < 2; ++direction) {
      run(box, {{u, us, vs, ws, qs, rho, square}, {rhs}, {}});
      run(box, {{u}, {rhs}, {}});
    }
    run(box, {{}, {rhs}, {}, {u, us, vs, ws, qs, rho, square}});
    run(box, {{}, {rhs}, {}, {u}});
    run(box, {{}, {rhs}, {}});
    for (int direction = 0; direction < 3; ++direction) {
      run(box, {{u, rho, qs, square}, {rhs}, {lhs}});
      run(box, {{lhs}, {rhs}, {}});
    }
    run(box, {{rhs}, {u}, {}});
  });
  kind::sink = static_cast<uint64_t>(u.at[0]);
}

// SP: as BT, with three scalar pentadiagonal systems of five coefficients a point.
void sp(const Box& box) {
  const Field u = field(box, 5), rhs = field(box, 5), forcing = field(box, 5);
  const Field us = field(box, 1), vs = field(box, 1), ws = field(box, 1), qs = field(box, 1),
              rho = field(box, 1), square = field(box, 1), speed = field(box, 1),
              ainv = field(box, 1);
  const Field first = field(box, 5), others = field(box, 10);
  kind::measure(box.points(), [&] {
    run(box, {{u}, {}, {us, vs, ws, qs, rho, square, speed, ainv}});
    run(box, {{forcing}, {}, {rhs}});
    for (int direction = 0; direction < 2; ++direction) {
      run(box, {{u, us, vs, ws, qs, rho, square}, {rhs}, {}});
      run(box, {{u}, {rhs}, {}});
    }
    run(box, {{}, {rhs}, {}, {u, us, vs, ws, qs, rho, square}});
    run(box, {{}, {rhs}, {}, {u}});
    run(box, {{}, {rhs}, {}});
    run(box, {{rho, us, vs, ws, qs, speed, ainv}, {rhs}, {}});  // txinvr
    for (int direction = 0; direction < 3; ++direction) {
      run(box, {{us, rho}, {}, {first}});
      run(box, {{}, {first}, {}});
      run(box, {{first, speed}, {}, {others}});
      run(box, {{}, {first, rhs}, {}});
      run(box, {{}, {others, rhs}, {}});
      run(box, {{first, others}, {rhs}, {}});
      run(box, {{}, {rhs}, {}});  // ninvr, pinvr, tzetar
    }
    run(box, {{rhs}, {u}, {}});
  });
  kind::sink = static_cast<uint64_t>(u.at[0]);
}

// LU: for every plane up and then down, four blocks of each point are made and used; then the
// right-hand side from fluxes.
void lu(const Box& box) {
  const Field u = field(box, 5), rsd = field(box, 5), frct = field(box, 5), flux = field(box, 5);
  const Box plane{box.x, box.y, 1};
  const Field blocks = field(plane, 100);
  const auto at = [&](const Field& all, uint64_t k) {
    return Field{all.at + box.row(0, k) * all.width, all.width};
  };
  kind::measure(box.points(), [&] {
    run(box, {{}, {rsd}, {}});
    for (uint64_t k = 1; k < box.z; ++k) {
      run(plane, {{at(u, k), at(u, k - 1)}, {}, {blocks}});
      run(plane, {{blocks, at(rsd, k - 1)}, {at(rsd, k)}, {}});
    }
    for (uint64_t k = box.z - 1; k-- > 0;) {
      run(plane, {{at(u, k), at(u, k + 1)}, {}, {blocks}});
      run(plane, {{blocks, at(rsd, k + 1)}, {at(rsd, k)}, {}});
    }
    run(box, {{rsd}, {u}, {}});
    run(box, {{frct}, {}, {rsd}});
    for (int direction = 0; direction < 3; ++direction) {
      for (int part = 0; part < 2; ++part) {  // convective and viscous
        run(box, {{u}, {}, {flux}});
        run(box, {{flux}, {rsd}, {}});
      }
      run(box, {{u}, {rsd}, {}});
    }
  });
  kind::sink = static_cast<uint64_t>(u.at[0]);
}

// FT: evolve, then a transform in each direction and a transposition through a buffer.
void ft(const Box& box) {
  const Field u0 = field(box, 2), u1 = field(box, 2), u2 = field(box, 2), twiddle = field(box, 1);
  kind::measure(box.points(), [&] {
    run(box, {{twiddle}, {u0}, {u1}});
    run(box, {{}, {u1}, {}});
    run(box, {{u1}, {}, {u2}});
    run(box, {{u2}, {}, {u1}});
    run(box, {{u1}, {}, {u2}});
    run(box, {{}, {u2}, {}});
    run(box, {{}, {u2}, {}});
  });
  kind::sink = static_cast<uint64_t>(u2.at[0]);
}

struct Level {
  Box box;
  Field u, r;
};

// Of a finer level's residual, half the points in each direction.
void restrict_to(const Level& fine, const Level& coarse) {
  std::vector<double> sums(fine.box.x);
  for (uint64_t k = 0; k < coarse.box.z; ++k)
    for (uint64_t j = 0; j < coarse.box.y; ++j) {
      for (double& sum : sums) sum = 0.0;
      for (uint64_t plane = 2 * k; plane < 2 * k + 3 && plane < fine.box.z; ++plane)
        for (uint64_t row = 2 * j; row < 2 * j + 3 && row < fine.box.y; ++row)
          add(fine.r, fine.box.row(row, plane), fine.box.x, sums.data());
      write(coarse.r, coarse.box.row(j, k), coarse.box.x, sums.data());
    }
}

void interpolate(const Level& coarse, const Level& fine) {
  std::vector<double> sums(fine.box.x);
  for (uint64_t k = 0; k < coarse.box.z; ++k)
    for (uint64_t j = 0; j < coarse.box.y; ++j) {
      for (double& sum : sums) sum = 0.0;
      for (uint64_t plane = k; plane < k + 2 && plane < coarse.box.z; ++plane)
        for (uint64_t row = j; row < j + 2 && row < coarse.box.y; ++row)
          add(coarse.u, coarse.box.row(row, plane), coarse.box.x, sums.data());
      for (uint64_t plane = 2 * k; plane < 2 * k + 2; ++plane)
        for (uint64_t row = 2 * j; row < 2 * j + 2; ++row)
          update(fine.u, fine.box.row(row, plane), fine.box.x, sums.data());
    }
}

// MG: a V-cycle, and the residual on the finest level.
void mg(const Box& box) {
  std::vector<Level> levels;
  Box part = box;
  for (int depth = 0; depth < 4 && part.x > 1 && part.y > 1 && part.z > 1; ++depth) {
    levels.push_back({part, field(part, 1), field(part, 1)});
    part = {part.x / 2, part.y / 2, part.z / 2};
  }
  const Field v = field(box, 1);
  const auto smooth = [](const Level& level) { run(level.box, {{}, {level.u}, {}, {level.r}}); };
  kind::measure(box.points(), [&] {
    for (size_t at = 0; at + 1 < levels.size(); ++at) restrict_to(levels[at], levels[at + 1]);
    for (size_t at = levels.size(); at-- > 0;) {
      const Level& level = levels[at];
      if (at > 0) run(level.box, {{}, {}, {level.u}});
      if (at + 1 < levels.size()) interpolate(levels[at + 1], level);
      if (at == 0)
        run(level.box, {{v}, {}, {level.r}, {level.u}});
      else
        run(level.box, {{}, {level.r}, {}, {level.u}});
      smooth(level);
    }
    run(box, {{v}, {}, {levels[0].r}, {levels[0].u}});
  });
  kind::sink = static_cast<uint64_t>(levels[0].u.at[0]);
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = kind::word(argc, argv, 1);
  const Box box{kind::number(argc, argv, 2), kind::number(argc, argv, 3),
                kind::number(argc, argv, 4)};
  if (strcmp(name, "bt") == 0)
    bt(box);
  else if (strcmp(name, "sp") == 0)
    sp(box);
  else if (strcmp(name, "lu") == 0)
    lu(box);
  else if (strcmp(name, "ft") == 0)
    ft(box);
  else
    mg(box);
}
