// Compares the buffer of an Optane DIMM with a published curve: J. Yang et al., An Empirical Guide
// to the Behavior and Use of Scalable Persistent Memory, FAST 2020; data
// github.com/NVSL/OptaneStudy at 61d0b5e859a3, graphs/09-infer_xpbuffer.csv.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "sim/device/device.hpp"

using namespace nearfar;
using namespace nearfar::sim;

namespace {

struct Published {
  std::uint64_t region_bytes;
  double amplification;
};

// The first halves of all 256 B blocks of a region are written, then the second halves, repeatedly.
// Regions below 1 KiB are left out: their published amplification is below 1.
constexpr std::array<Published, 34> published{
    {{1024, 0.970},   {2048, 1.036},   {4096, 1.034},    {8192, 1.036},   {16384, 1.036},
     {18432, 1.039},  {20480, 1.359},  {22528, 1.503},   {24576, 1.608},  {26624, 1.681},
     {28672, 1.736},  {30720, 1.786},  {32768, 1.820},   {34816, 1.857},  {36864, 1.877},
     {38912, 1.894},  {40960, 1.918},  {43008, 1.937},   {45056, 1.955},  {47104, 1.970},
     {49152, 1.984},  {51200, 1.997},  {53248, 2.007},   {55296, 2.015},  {57344, 2.023},
     {59392, 2.029},  {61440, 2.034},  {63488, 2.040},   {65536, 2.043},  {131072, 2.076},
     {262144, 2.076}, {524288, 2.076}, {1048576, 2.075}, {2097152, 2.074}}};

// The medium's writes per block at the first plateau, a constant factor at every size.
constexpr double plateau = 1.036;

double simulated(std::uint64_t region_bytes, std::uint32_t blocks, Replacement replacement) {
  Parameters parameters;
  parameters.buffers = {{.shape = {1, blocks, replacement}, .block_log2 = 8}};
  Device dimm(parameters, 1);
  const std::uint64_t count = region_bytes / 256;
  const std::uint64_t passes = std::max<std::uint64_t>(200'000 / count, 20);
  std::uint64_t before = 0;
  for (std::uint64_t pass = 0; pass < passes + passes / 4; ++pass) {
    if (pass == passes / 4) before = dimm.media_writes();
    for (const unsigned half : {0U, 128U}) {
      for (std::uint64_t block = 0; block < count; ++block) {
        dimm.write<Scalar>(block * 256 + half, {});
        dimm.write<Scalar>(block * 256 + half + 64, {});
      }
    }
  }
  return static_cast<double>(dimm.media_writes() - before) / static_cast<double>(passes * count);
}

double mean_error(std::uint32_t blocks, Replacement replacement) {
  double sum = 0;
  for (const auto& [region_bytes, amplification] : published) {
    const double ours = plateau * simulated(region_bytes, blocks, replacement);
    MESSAGE(blocks << " blocks, " << region_bytes << " B: " << ours << ", published "
                   << amplification);
    sum += std::abs(ours / amplification - 1);
  }
  return sum / published.size();
}

}  // namespace

TEST_CASE("70 blocks and random replacement give the published write amplification") {
  CHECK(mean_error(70, Replacement::random) < 0.012);
}

TEST_CASE("LRU replacement has a cliff that the hardware does not have") {
  CHECK(mean_error(70, Replacement::lru) > 0.05);
}
