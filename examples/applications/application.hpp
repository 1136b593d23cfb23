// What the three applications share: dice, latencies of requests, a socket to serve them through,
// and memory under a name.
#pragma once

#include <nearfar/alloc.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace application {

[[noreturn]] inline void fail(const char* what) {
  perror(what);
  exit(3);
}

inline uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// Numbers that look random, the same in every run.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}

  // splitmix64: visits every 64-bit value, and has no bad seed.
  uint64_t next() {
    uint64_t value = state_ += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
  }

  // Below `count`, all alike.
  uint64_t below(uint64_t count) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
  }

  // One of the weights' places, in proportion to them; they add up to `whole`.
  template <typename Weights>
  uint64_t pick(const Weights& weights, uint64_t whole) {
    uint64_t left = below(whole);
    uint64_t place = 0;
    while (left >= weights[place]) left -= weights[place++];
    return place;
  }

 private:
  uint64_t state_;
};

// Latencies of one kind of request, in buckets 1/32 of a power of two wide, as HdrHistogram has
// them (Debian packages it for Go and Java only).
class Latencies {
 public:
  void add(uint64_t ns) {
    counts_[bucket(ns)]++;
    total_ns_ += ns;
  }
  void add(const Latencies& other) {
    total_ns_ += other.total_ns_;
    for (size_t i = 0; i < counts_.size(); i++) counts_[i] += other.counts_[i];
  }
  uint64_t count() const {
    uint64_t sum = 0;
    for (const uint64_t one : counts_) sum += one;
    return sum;
  }
  // The upper end of the bucket in which this share of all requests is reached.
  uint64_t at(double share) const {
    const double wanted = share * static_cast<double>(count());
    double seen = 0;
    size_t i = 0;
    for (; i + 1 < counts_.size(); i++) {
      seen += static_cast<double>(counts_[i]);
      if (seen >= wanted && seen > 0) break;
    }
    return upper(i);
  }
  void write(FILE* file, const char* kind) const {
    fprintf(file, "%s,total,%lu\n", kind, total_ns_);
    for (size_t i = 0; i < counts_.size(); i++) {
      if (counts_[i]) fprintf(file, "%s,%lu,%lu\n", kind, upper(i), counts_[i]);
    }
  }

 private:
  static constexpr unsigned kBits = 5;
  static constexpr uint64_t kParts = 1u << kBits;

  static size_t bucket(uint64_t ns) {
    if (ns < kParts) return ns;
    const auto octave = static_cast<unsigned>(std::bit_width(ns)) - 1 - kBits;
    return (octave << kBits) + (ns >> octave);
  }
  static uint64_t upper(size_t i) {
    if (i < kParts) return i;
    const uint64_t octave = (i >> kBits) - 1;
    return (((i & (kParts - 1)) + kParts + 1) << octave) - 1;
  }

  std::array<uint64_t, (64 - kBits + 1) * kParts> counts_{};
  uint64_t total_ns_ = 0;
};

// Requests by kind: their latencies, and how many a second.
class Served {
 public:
  explicit Served(std::vector<const char*> kinds) : kinds_(std::move(kinds)), by_(kinds_.size()) {}

  Latencies& of(uint64_t kind) { return by_[kind]; }
  const char* name(uint64_t kind) const { return kinds_[kind]; }

  // Prints all of them; into `path`, if any, lines of kind, "total" and ns, then the buckets as
  // kind, up to ns, count.
  void report(double seconds, const char* path) {
    Latencies all;
    printf("%-12s %9s %9s %9s %9s %9s\n", "request", "count", "p50 us", "p95 us", "p99 us",
           "p99.9 us");
    for (uint64_t kind = 0; kind < kinds_.size(); kind++) {
      print(kinds_[kind], by_[kind]);
      all.add(by_[kind]);
    }
    print("all", all);
    printf("%.0f requests a second\n", static_cast<double>(all.count()) / seconds);
    if (path == nullptr) return;
    FILE* const file = fopen(path, "w");
    if (file == nullptr) fail(path);
    for (uint64_t kind = 0; kind < kinds_.size(); kind++) by_[kind].write(file, kinds_[kind]);
    if (fclose(file) != 0) fail(path);
  }

 private:
  static void print(const char* name, const Latencies& of) {
    const auto us = [&](double share) { return static_cast<double>(of.at(share)) / 1000; };
    printf("%-12s %9lu %9.2f %9.2f %9.2f %9.2f\n", name, of.count(), us(0.5), us(0.95), us(0.99),
           us(0.999));
  }

  std::vector<const char*> kinds_;
  std::vector<Latencies> by_;
};

// A client's and a server's end of one connection, by datagrams. Both are this thread's, which asks
// a train of requests, serves them and reads the answers: what the kernel takes to bring a request
// in and its answer out is in the server's time, waiting for another core is not.
class Connection {
 public:
  static constexpr uint64_t kTrain = 8;  // Of the largest requests, what a socket's buffer holds.

  Connection() {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_) != 0) fail("socketpair");
  }
  ~Connection() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // `ask()` returns a request, `serve(request)` its answer; serving is the phase `name`.
  // `look(answer)` is the client's again.
  template <typename Ask, typename Serve, typename Look>
  void train(const char* name, Latencies& latencies, const Ask& ask, const Serve& serve,
             const Look& look) {
    for (uint64_t i = 0; i < kTrain; i++) put(ends_[0], ask());
    NEARFAR_BEGIN(name);
    uint64_t began = now_ns();
    for (uint64_t i = 0; i < kTrain; i++) {
      put(ends_[1], serve(take(ends_[1])));
      const uint64_t ended = now_ns();
      latencies.add(ended - began);
      began = ended;
    }
    NEARFAR_END(name, kTrain);
    for (uint64_t i = 0; i < kTrain; i++) look(take(ends_[0]));
  }

 private:
  static void put(int end, std::string_view text) {
    if (send(end, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) fail("send");
  }
  // What is read ends in a zero, so that numbers in it can be parsed.
  std::string_view take(int end) {
    const ssize_t length = recv(end, buffer_.data(), buffer_.size() - 1, 0);
    if (length <= 0) fail("recv");
    buffer_[static_cast<size_t>(length)] = 0;
    return {buffer_.data(), static_cast<size_t>(length)};
  }

  int ends_[2];
  std::array<char, 16384> buffer_;
};

struct Options {
  uint64_t size;
  uint64_t work;
  const char* latencies = nullptr;
};

// Objects that ask for pages of 2 MiB; "all" or names with a comma behind each.
inline std::string huge_pages;

// Reads `SIZE WORK [--latencies FILE] [--huge-pages[=NAME,...]]`, or says how it is called and
// ends.
inline Options options(int count, char** words, uint64_t size, uint64_t work) {
  Options found{size, work};
  uint64_t* const numbers[] = {&found.size, &found.work};
  int given = 0;
  for (int i = 1; i < count; i++) {
    const std::string_view word = words[i];
    char* end = nullptr;
    if (word == "--huge-pages") {
      huge_pages = "all";
    } else if (word.starts_with("--huge-pages=")) {
      huge_pages = std::string(word.substr(word.find('=') + 1)) + ",";
    } else if (word == "--latencies" && i + 1 < count) {
      found.latencies = words[++i];
    } else if (given < 2 && (*numbers[given++] = strtoull(words[i], &end, 10)) && *end == 0) {
    } else {
      fprintf(stderr, "usage: %s [SIZE [WORK]] [--latencies FILE] [--huge-pages[=NAME,...]]\n",
              words[0]);
      exit(2);
    }
  }
  return found;
}

// Memory of an object called `name`, zeroed; never given back.
template <typename Element>
Element* region(const char* name, uint64_t count) {
  constexpr uint64_t huge = 2u << 20;
  const uint64_t bytes = (count * sizeof(Element) + huge - 1) / huge * huge;
  void* const found = nearfar_xmalloc_aligned(name, huge, bytes);
  if (found == nullptr) fail(name);
  if (huge_pages == "all" ||
      ("," + huge_pages).find("," + std::string(name) + ",") != std::string::npos) {
    madvise(found, bytes, MADV_HUGEPAGE);
  }
  memset(found, 0, bytes);
  return static_cast<Element*>(found);
}

}  // namespace application
