// Tests the arithmetic of delays; tests/python/emulate compares it with the model.
#include "profile/runtime/core_time.cpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace nearfar::profile;

namespace {

// Costs of chases only, `ns` each at every overlap.
struct Chases {
  explicit Chases(double ns) { costs[0] = {ns, 0, 0, 0, 0}; }
  LineCost costs[charges] = {};
};

}  // namespace

TEST_CASE("cube roots") {
  for (const double x : {1e-90, 1e-3, 0.5, 1.0, 8.0, 12345.0, 1e27}) {
    CHECK(cube_root(x * x * x) == doctest::Approx(x).epsilon(1e-9));
  }
  CHECK(cube_root(0.0) == 0.0);
}

TEST_CASE("a chase that explains all of near time takes the far latency") {
  const Chases near(100.0);
  const Chases far(300.0);
  const double lines[charges] = {1000.0};
  CHECK(far_time_ns(100e3, lines, lines, near.costs, far.costs, 1) == doctest::Approx(300e3));
}

TEST_CASE("near time that memory does not explain stays") {
  const Chases near(100.0);
  const Chases far(300.0);
  const double lines[charges] = {1000.0};
  CHECK(far_time_ns(150e3, lines, lines, near.costs, far.costs, 1) == doctest::Approx(350e3));
}

TEST_CASE("lines that are not moved keep their cost") {
  const Chases near(100.0);
  const Chases far(300.0);
  const double lines[charges] = {1000.0};
  const double none[charges] = {};
  const double half[charges] = {500.0};
  CHECK(far_time_ns(120e3, lines, none, near.costs, far.costs, 1) == doctest::Approx(120e3));
  CHECK(far_time_ns(120e3, lines, half, near.costs, far.costs, 1) == doctest::Approx(220e3));
}

TEST_CASE("a batch ends when it took long enough or has the maximum size") {
  EmulationFile file = {};
  file.batch = 256;
  file.min_ns = 1'000'000;
  CHECK_FALSE(is_due(file, 256, 999'999));
  CHECK(is_due(file, 256, 1'000'000));
  CHECK_FALSE(is_due(file, 63 * 256, 500'000));
  CHECK(is_due(file, 64 * 256, 500'000));
}

TEST_CASE("near time between two degrees of overlap lies between their far times") {
  LineCost near[2 * charges] = {};
  LineCost far[2 * charges] = {};
  near[0] = {100, 0, 0, 0, 0};
  near[charges] = {90, 0, 0, 0, 0};
  far[0] = {300, 0, 0, 0, 0};
  far[charges] = {200, 0, 0, 0, 0};
  const double lines[charges] = {1000.0};
  CHECK(far_time_ns(100e3, lines, lines, near, far, 2) == doctest::Approx(300e3));
  CHECK(far_time_ns(95e3, lines, lines, near, far, 2) == doctest::Approx(250e3).epsilon(1e-3));
  CHECK(far_time_ns(90e3, lines, lines, near, far, 2) == doctest::Approx(200e3));
  // Below the lowest near cost, both costs scale down.
  CHECK(far_time_ns(45e3, lines, lines, near, far, 2) == doctest::Approx(100e3));
}

TEST_CASE("far bandwidth is not beaten by near time between two degrees of overlap") {
  LineCost near[2 * charges] = {};
  LineCost far[2 * charges] = {};
  near[0] = {100, 0, 0, 0, 0};
  near[charges] = {90, 0, 0, 0, 0};
  far[0] = {300, 0, 0, 500, 500};
  far[charges] = {280, 0, 0, 500, 500};
  const double lines[charges] = {1000.0};
  for (const double near_ns : {100e3, 97e3, 91e3, 90e3}) {
    CHECK(far_time_ns(near_ns, lines, lines, near, far, 2) == doctest::Approx(500e3));
  }
}

TEST_CASE("what a batch falls short of is taken from the next") {
  double carried_ns = 0.0;
  CHECK(even_out(95.0, 100.0, carried_ns) == doctest::Approx(100.0));
  CHECK(carried_ns == doctest::Approx(-5.0));
  CHECK(even_out(108.0, 100.0, carried_ns) == doctest::Approx(103.0));
  CHECK(carried_ns == 0.0);
  CHECK(even_out(108.0, 100.0, carried_ns) == doctest::Approx(108.0));
}

TEST_CASE("batches that are always short are charged the time they took") {
  double carried_ns = 0.0;
  double near_ns = 0.0;
  for (int batch = 0; batch < 10; ++batch) near_ns = even_out(95.0, 100.0, carried_ns);
  CHECK(near_ns == doctest::Approx(95.0));
  CHECK(carried_ns == doctest::Approx(-max_carried * 100.0));
  // The last batch, cut short by a mark, does not take negative time.
  CHECK(even_out(1.0, 0.0, carried_ns) == 0.0);
  CHECK(carried_ns == 0.0);
}

TEST_CASE("a stream with scattering batches takes its far time") {
  LineCost near[charges] = {};
  LineCost far[charges] = {};
  near[2] = {0, 2, 2, 0, 0};
  far[2] = {0, 22, 22, 0, 0};
  const double lines[charges] = {0, 0, 1000.0};
  double carried_ns = 0.0;
  double sum_ns = 0.0;
  double uncarried_ns = 0.0;
  for (const double off : {0.08, -0.08, 0.05, -0.05, 0.08, -0.08, 0.03, -0.03}) {
    const double took_ns = 2e3 * (1.0 + off);
    uncarried_ns += far_time_ns(took_ns, lines, lines, near, far, 1);
    const double near_ns = even_out(took_ns, min_time_ns(lines, near, 1), carried_ns);
    sum_ns += far_time_ns(near_ns, lines, lines, near, far, 1);
  }
  CHECK(sum_ns == doctest::Approx(8 * 22e3).epsilon(0.002));
  CHECK(uncarried_ns < 0.975 * 8 * 22e3);
}
