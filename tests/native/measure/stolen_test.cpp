#include "measure/stolen.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

using namespace nearfar::measure;

namespace {

// A file like /proc/stat with one CPU, removed at the end.
class Stat {
 public:
  Stat() { write(100); }
  Stat(const Stat&) = delete;
  Stat& operator=(const Stat&) = delete;
  ~Stat() { std::filesystem::remove(path_); }

  void write(std::uint64_t stolen) const {
    std::ofstream file(path_);
    for (const char* name : {"cpu", "cpu0"})
      file << name << " 1 2 3 4 5 6 7 " << stolen << " 0 0\n";
  }
  [[nodiscard]] StolenTicks open() const { return {path_, {0}}; }

 private:
  std::string path_ =
      std::filesystem::temp_directory_path() / ("nearfar-stat-" + std::to_string(getpid()));
};

}  // namespace

TEST_CASE("a read ahead counts ticks up to itself; later ones count next") {
  const Stat stat;
  const StolenTicks ticks = stat.open();
  const std::function<void()> read = ticks.read_ahead();
  stat.write(103);
  read();
  stat.write(108);
  CHECK(ticks.most_since_last_call() == 3);
  CHECK(ticks.most_since_last_call() == 5);
  CHECK(ticks.most_since_last_call() == 0);
}

TEST_CASE("a read ahead that comes too late does nothing") {
  const Stat stat;
  const StolenTicks ticks = stat.open();
  const std::function<void()> late = ticks.read_ahead();
  stat.write(102);
  CHECK(ticks.most_since_last_call() == 2);
  stat.write(106);
  late();
  stat.write(107);
  CHECK(ticks.most_since_last_call() == 5);
  const std::function<void()> replaced = ticks.read_ahead();
  const std::function<void()> next = ticks.read_ahead();
  stat.write(109);
  replaced();
  stat.write(110);
  next();
  stat.write(120);
  CHECK(ticks.most_since_last_call() == 3);
}

TEST_CASE("ticks of a read ahead that nobody asked for are not lost") {
  const Stat stat;
  const StolenTicks ticks = stat.open();
  const std::function<void()> failed = ticks.read_ahead();
  stat.write(104);
  failed();
  const std::function<void()> next = ticks.read_ahead();
  stat.write(105);
  next();
  CHECK(ticks.most_since_last_call() == 5);
  const std::function<void()> again = ticks.read_ahead();
  stat.write(107);
  again();
  const std::function<void()> late = ticks.read_ahead();
  stat.write(110);
  CHECK(ticks.most_since_last_call() == 5);
  late();
  CHECK(ticks.most_since_last_call() == 0);
}
