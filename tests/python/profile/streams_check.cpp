// Compares where streams are said to enter sampled lines with a walk over every access.
#include <cstdio>
#include <random>
#include <set>
#include <utility>

#include "profile/streams.hpp"

namespace {

using nearfar::profile::find_next;
using Entries = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // (iteration, line)

Entries walked(const nf_stream& stream, unsigned rate_log2, std::uint64_t iterations) {
  Entries entries;
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    const std::uint64_t first = stream.address + i * static_cast<std::uint64_t>(stream.step);
    for (std::uint64_t byte = first; byte < first + stream.bytes; ++byte)
      if (nf_sampled(byte, NF_FILTER_MASK(rate_log2)) && seen.insert(byte / 64).second)
        entries.insert({i, byte / 64 * 64});
  }
  return entries;
}

Entries found(nf_stream stream, unsigned rate_log2, std::uint64_t iterations) {
  Entries entries;
  find_next(stream, rate_log2, 0, true);
  while (stream.next < iterations) {
    if (nf_sampled(stream.line, NF_FILTER_MASK(rate_log2)))
      entries.insert({stream.next, stream.line});
    find_next(stream, rate_log2, stream.next, false);
  }
  return entries;
}

}  // namespace

int main() {
  std::mt19937_64 random(7);
  const unsigned rates[] = {0, 1, 3, 6, 7, 9};
  for (int trial = 0; trial < 20000; ++trial) {
    nf_stream stream{};
    stream.address = 0x7f0000000000ull + random() % (1ull << 30);
    stream.step = static_cast<std::int64_t>(1 + random() % 1024);
    if (random() % 2 == 0) stream.step = 1ll << (random() % 11);
    stream.bytes = static_cast<std::uint16_t>(1 + random() % 256);
    if (random() % 2 == 0) stream.step = -stream.step;
    const unsigned rate = rates[random() % 6];
    const std::uint64_t iterations = 1 + random() % 200;
    if (walked(stream, rate, iterations) != found(stream, rate, iterations)) {
      std::printf("address %llx step %lld bytes %u rate 2^%u iterations %llu\n",
                  static_cast<unsigned long long>(stream.address),
                  static_cast<long long>(stream.step), stream.bytes, rate,
                  static_cast<unsigned long long>(iterations));
      return 1;
    }
  }
  std::puts("20000 streams");
}
