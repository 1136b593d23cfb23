// XSBench in kind: macroscopic cross sections by the unionised energy grid, history mode.
//   xsbench NUCLIDES GRIDPOINTS LOOKUPS
// A lookup searches an energy in the union of all nuclides' grids, and for each nuclide of a
// material interpolates between two of its grid's points. The next energy of a history depends on
// the result.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kind.hpp"

namespace {

struct Point {
  double energy, total, elastic, absorption, fission, nu_fission;
};

constexpr std::array<int, 12> NUCLIDES_LARGE{321, 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9};
constexpr std::array<double, 12> SHARES{0.140, 0.052, 0.275, 0.134, 0.154, 0.064,
                                        0.066, 0.055, 0.008, 0.015, 0.025, 0.013};
constexpr int LOOKUPS_OF_HISTORY = 34;

struct Grids {
  uint64_t nuclides, points;
  Point* nuclide;   // nuclides x points
  double* energy;   // the union, sorted
  uint32_t* index;  // per energy of the union: the point below it of every nuclide
};

Grids make(uint64_t nuclides, uint64_t points) {
  const uint64_t all = nuclides * points;
  Grids grids{nuclides, points, kind::array<Point>("nuclide grids", all),
              kind::array<double>("energy grid", all),
              kind::array<uint32_t>("index grid", all * nuclides)};
  kind::Dice dice(1);
  for (uint64_t i = 0; i < nuclides; ++i) {
    std::vector<double> energies(points);
    for (auto& energy : energies) energy = dice.unit();
    std::sort(energies.begin(), energies.end());
    for (uint64_t p = 0; p < points; ++p) {
      grids.nuclide[i * points + p] = {energies[p], dice.unit(), dice.unit(),
                                       dice.unit(), dice.unit(), dice.unit()};
      grids.energy[i * points + p] = energies[p];
    }
  }
  std::sort(grids.energy, grids.energy + all);
  std::vector<uint32_t> below(nuclides, 0);
  for (uint64_t e = 0; e < all; ++e) {
    for (uint64_t i = 0; i < nuclides; ++i) {
      while (below[i] + 2 < points &&
             grids.nuclide[i * points + below[i] + 1].energy <= grids.energy[e])
        ++below[i];
      grids.index[e * nuclides + i] = below[i];
    }
  }
  return grids;
}

struct Material {
  std::vector<uint32_t> nuclides;
  std::vector<double> densities;
};

std::vector<Material> materials(uint64_t nuclides) {
  kind::Dice dice(2);
  std::vector<Material> all(NUCLIDES_LARGE.size());
  for (size_t m = 0; m < all.size(); ++m) {
    const auto count =
        std::max<uint64_t>(1, static_cast<uint64_t>(NUCLIDES_LARGE[m]) * nuclides / 355);
    for (uint64_t k = 0; k < count; ++k) {
      all[m].nuclides.push_back(static_cast<uint32_t>(m == 0 ? k : dice.below(nuclides)));
      all[m].densities.push_back(dice.unit());
    }
  }
  return all;
}

uint64_t lookups(const Grids& grids, const std::vector<Material>& all, uint64_t count) {
  uint64_t verification = 0;
  for (uint64_t history = 0; history * LOOKUPS_OF_HISTORY < count; ++history) {
    kind::Dice dice(history);
    for (int step = 0; step < LOOKUPS_OF_HISTORY; ++step) {
      const double energy = dice.unit();
      double roll = dice.unit();
      size_t m = 0;
      while (m + 1 < SHARES.size() && roll >= SHARES[m]) roll -= SHARES[m++];
      uint64_t low = 0;
      uint64_t high = grids.nuclides * grids.points - 1;
      while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (grids.energy[middle] > energy)
          high = middle;
        else
          low = middle;
      }
      std::array<double, 5> macro{};
      for (size_t k = 0; k < all[m].nuclides.size(); ++k) {
        const uint64_t nuclide = all[m].nuclides[k];
        const Point* point =
            grids.nuclide + nuclide * grids.points + grids.index[low * grids.nuclides + nuclide];
        const double f = (point[1].energy - energy) / (point[1].energy - point[0].energy);
        const double density = all[m].densities[k];
        macro[0] += density * (point[1].total - f * (point[1].total - point[0].total));
        macro[1] += density * (point[1].elastic - f * (point[1].elastic - point[0].elastic));
        macro[2] +=
            density * (point[1].absorption - f * (point[1].absorption - point[0].absorption));
        macro[3] += density * (point[1].fission - f * (point[1].fission - point[0].fission));
        macro[4] +=
            density * (point[1].nu_fission - f * (point[1].nu_fission - point[0].nu_fission));
      }
      const auto largest = std::max_element(macro.begin(), macro.end()) - macro.begin();
      verification += static_cast<uint64_t>(largest) + 1;
      for (long skip = 0; skip < largest; ++skip) dice.next();
    }
  }
  return verification;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t count = kind::number(argc, argv, 3);
  const Grids grids = make(kind::number(argc, argv, 1), kind::number(argc, argv, 2));
  const auto all = materials(grids.nuclides);
  kind::measure(count, [&] { kind::sink = lookups(grids, all, count); });
}
