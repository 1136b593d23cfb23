// Explores the crash states of hand-made traces; no program and no real checker runs.
#include <doctest/doctest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "crash/explore/judge.hpp"
#include "crash/explore/memory.hpp"
#include "crash/explore/states.hpp"

using namespace nearfar::crash;

namespace {

// A pool of zeros in its own folder.
class Pool {
 public:
  Pool() {
    char name[] = "/tmp/nearfar-explore-XXXXXX";
    folder_ = mkdtemp(name);
    image = std::make_unique<Image>(folder_ + "/state", 8192);
    memory = std::make_unique<Memory>(*image, false);
  }
  ~Pool() {
    image.reset();
    rmdir(folder_.c_str());
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void feed(nf_crash_kind kind, std::uint64_t a, std::uint64_t b, char value = 0,
            std::uint32_t thread = 0) {
    // Records point to their contents, as those of a trace do.
    contents_.push_back(std::make_unique<std::string>(NF_CRASH_LINE, value));
    const nf_crash_record record{static_cast<std::uint16_t>(kind), 0, 64, a, b, thread, 0};
    memory->feed({&record, nullptr, contents_.back()->data(), 0, 0}, 0);
  }
  void store(std::uint64_t line, char value) { feed(NF_CRASH_STORE, line * 64, 0, value); }
  void flush(std::uint64_t line, std::uint32_t thread = 0) {
    feed(NF_CRASH_FLUSH, line * 64, 1, 0, thread);
  }
  void fence(std::uint32_t thread = 0) { feed(NF_CRASH_FENCE, 0, 0, 0, thread); }
  char durable(std::uint64_t line) const { return *image->durable(line * 64); }

  std::string image_of(const State& state) const {
    std::string whole(image->durable(0), 8192);
    for (const InState& line : state) {
      const char* content = memory->line(line.offset)->stores[line.stores - 1].content;
      whole.replace(line.offset, NF_CRASH_LINE, content, NF_CRASH_LINE);
    }
    return whole;
  }
  std::vector<State> states(std::uint64_t seed = 1) const {
    std::vector<State> all;
    for_each_state(memory->candidates(), seed, [&](const State& state) {
      all.push_back(state);
      return true;
    });
    return all;
  }

  std::unique_ptr<Image> image;
  std::unique_ptr<Memory> memory;

 private:
  std::string folder_;
  std::vector<std::unique_ptr<std::string>> contents_;
};

// A checker that records the pool's first byte and overwrites it.
class RecordingChecker final : public Checker {
 public:
  explicit RecordingChecker(const Image& image) : image_(image) {}
  Verdict run(const Cut& /*cut*/) override {
    seen.push_back(*image_.mapped());
    FILE* file = fopen(image_.path().c_str(), "r+b");
    if (file != nullptr) {
      fputc('x', file);
      fclose(file);
    }
    return {};
  }
  std::string seen;

 private:
  const Image& image_;
};

}  // namespace

TEST_CASE("each check sees the unchanged state, also where another check is left out") {
  Pool pool;
  pool.store(0, 'a');
  pool.store(0, 'b');
  std::vector<Check> checks(2);
  std::vector<const RecordingChecker*> recorders;
  for (Check& check : checks) {
    auto recorder = std::make_unique<RecordingChecker>(*pool.image);
    recorders.push_back(recorder.get());
    check.plain = std::move(recorder);
  }
  checks[1].main_states_only = true;
  Judge judge(*pool.image, checks, nullptr);
  CHECK(judge.judge(*pool.memory, {{0, 1}}, 0, true).symptom.empty());
  CHECK(judge.judge(*pool.memory, {{0, 2}}, 0, false).symptom.empty());
  CHECK(judge.judge(*pool.memory, {}, 0, true).symptom.empty());
  CHECK(judge.judge(*pool.memory, {}, 0, true).symptom.empty());
  CHECK(recorders[0]->seen == std::string("ab\0", 3));
  CHECK(recorders[1]->seen == std::string("a\0", 2));
  CHECK(*pool.image->mapped() == 0);
  CHECK(judge.states == 3);
}

TEST_CASE("a fence makes only the lines durable that its own thread flushed") {
  Pool pool;
  pool.store(0, 1);
  pool.flush(0);
  pool.store(0, 2);
  pool.store(1, 3);
  pool.fence(1);
  CHECK(pool.durable(0) == 0);
  pool.fence(0);
  CHECK(pool.durable(0) == 1);
  CHECK(pool.durable(1) == 0);
  CHECK(pool.memory->candidates().size() == 2);
}

TEST_CASE("a flush of a line that became durable meanwhile covers no later stores") {
  Pool pool;
  pool.store(0, 1);
  pool.flush(0, 0);
  pool.flush(0, 1);
  pool.fence(0);
  pool.store(0, 2);
  pool.fence(1);
  CHECK(pool.durable(0) == 1);
}

TEST_CASE("few lines are explored in all states, many in a sample, no line beyond its stores") {
  Pool pool;
  for (std::uint64_t line = 0; line < 4; ++line) pool.store(line, 1);
  CHECK(pool.states().size() == 16);
  for (std::uint64_t line = 0; line < 100; ++line) {
    for (char value = 2; value < 5; ++value) pool.store(line, value);
  }
  const std::vector<State> states = pool.states();
  CHECK(states.size() < 2000);
  CHECK(states[0].empty());
  CHECK(states[1].size() == 100);
  for (const State& state : states) {
    for (const InState& line : state) {
      CHECK(line.stores >= 1);
      CHECK(line.stores <= pool.memory->line(line.offset)->count());
    }
  }
}

TEST_CASE("the same seed gives the same states") {
  Pool pool;
  for (std::uint64_t line = 0; line < 9; ++line) pool.store(line, 1);
  const auto images = [&](std::uint64_t seed) {
    std::vector<std::string> all;
    for (const State& state : pool.states(seed)) all.push_back(pool.image_of(state));
    return all;
  };
  CHECK(images(1) == images(1));
  CHECK(images(1) != images(2));
}

TEST_CASE("two states have the same key if and only if their images are equal") {
  std::mt19937 dice(7);
  for (int round = 0; round < 50; ++round) {
    Pool pool;
    std::map<std::uint64_t, std::string> images;
    for (int step = 0; step < 12; ++step) {
      const std::uint64_t line = dice() % 4;
      pool.store(line, static_cast<char>(dice() % 3));
      if (dice() % 3 == 0) {
        pool.flush(line);
        pool.fence();
      }
      for (const State& state : pool.states()) {
        const std::string image = pool.image_of(state);
        CHECK(images.emplace(pool.memory->key_of(state), image).first->second == image);
      }
    }
    std::set<std::string> different;
    for (const auto& [key, image] : images) different.insert(image);
    CHECK(different.size() == images.size());
  }
}

TEST_CASE("an image is restored after its file was removed, cut or overwritten") {
  Pool pool;
  pool.store(1, 5);
  pool.flush(1);
  pool.fence();
  const std::string path = pool.image->path();
  const auto content = [&] {
    FILE* file = fopen(path.c_str(), "rb");
    REQUIRE(file != nullptr);
    std::string whole(8192, '?');
    CHECK(fread(whole.data(), 1, whole.size(), file) == 8192);
    fclose(file);
    return whole;
  };
  const std::string before = content();
  SUBCASE("removed") { CHECK(unlink(path.c_str()) == 0); }
  SUBCASE("truncated") { CHECK(truncate(path.c_str(), 100) == 0); }
  SUBCASE("overwritten") {
    FILE* file = fopen(path.c_str(), "r+b");
    REQUIRE(file != nullptr);
    fputs("nonsense", file);
    fclose(file);
  }
  pool.image->restore(false);
  CHECK(content() == before);
}
