#include "base/page_content.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>

using nearfar::estimate_compression;
using nearfar::PageContent;

namespace {
using Page = std::array<unsigned char, 4096>;

// Returns a page of records of `size` bytes; the first `noisy` bytes of each are random.
Page records(std::size_t size, std::size_t noisy) {
  std::mt19937 random(1);
  Page page{};
  for (std::size_t at = 0; at < page.size(); ++at) {
    if (at % size < noisy) page[at] = static_cast<unsigned char>(random());
  }
  return page;
}

PageContent look(const Page& page) { return estimate_compression(page.data()); }
}  // namespace

TEST_CASE("a page of zeros is one match") {
  const PageContent zeros = look(Page{});
  CHECK(zeros.bytes < 32);
  CHECK(zeros.work < 32);
}

TEST_CASE("noise is left as it is and passed over quickly") {
  const PageContent noise = look(records(4096, 4096));
  CHECK(noise.bytes >= 4080);
  CHECK(noise.work < 1000);
}

TEST_CASE("the same bytes are more work in shorter records") {
  const PageContent coarse = look(records(128, 32));
  const PageContent fine = look(records(16, 4));
  CHECK(fine.work > 2 * coarse.work);
  CHECK(coarse.bytes > 1024);
  CHECK(coarse.bytes < 1400);
}

TEST_CASE("matches at irregular places are more work than the same number at regular ones") {
  std::mt19937 random(2);
  Page irregular{};
  for (std::size_t at = 0; at + 32 <= irregular.size(); at += 32) {
    const std::size_t noisy = 4 + random() % 16;
    for (std::size_t i = 0; i < noisy; ++i)
      irregular[at + i] = static_cast<unsigned char>(random());
  }
  CHECK(look(irregular).work > look(records(32, 12)).work + 500);
}
