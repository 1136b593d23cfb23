// Judges states: each image once, by all the checkers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "crash/explore/checker.hpp"
#include "crash/explore/image.hpp"
#include "crash/explore/memory.hpp"

namespace nearfar::crash {

struct Check {
  Command command;
  bool oracle = false;        // nearfar judges what it says
  bool rarely = false;        // main states only
  bool by_operation = false;  // it is told which operations are done
  std::unique_ptr<Checker> served;
  std::unique_ptr<Checker> plain;
};

// Numbers that were seen, 8 bytes each.
class Seen {
 public:
  // False if it was there.
  bool add(std::uint64_t key);
  bool has(std::uint64_t key) const;

 private:
  std::size_t place(std::uint64_t key) const;
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1 << 12);
  std::size_t count_ = 0;
};

class Judge {
 public:
  Judge(Image& image, std::vector<Check>& checks) : image_(image), checks_(checks) {}

  bool is_new(const Memory& memory, const State& state) const;
  // From memory if it was judged before. `position`: events that have happened.
  const Verdict& judge(const Memory& memory, const State& state, std::uint64_t position, bool main);
  // By the plain commands, whatever was said before.
  Verdict judge_plainly(const Memory& memory, const State& state, std::uint64_t position);

  // Sends the pages of the state's image that are not all zeros: I, count, each offset and content.
  void send_image(const Memory& memory, const State& state);

  std::uint64_t states = 0;
  std::uint64_t time_ns = 0;

 private:
  std::uint64_t key_of(const Memory& memory, const State& state) const;
  void patch(const Memory& memory, const State& state);
  static Verdict run_check(Check& check, const Cut& cut, bool plainly);
  Verdict run(const Memory& memory, const State& state, std::uint64_t position, bool main,
              bool plainly);
  Verdict ask(const Memory& memory, std::uint64_t position, const Verdict& verdict);

  Image& image_;
  std::vector<Check>& checks_;
  Seen seen_;
  // Each different verdict once: thousands of images are refused in the same words.
  std::unordered_map<std::uint64_t, const Verdict*> refused_;
  std::unordered_map<std::string, Verdict> verdicts_;
  std::unordered_map<std::string, Verdict> answers_;
  Verdict fine_;
};

}  // namespace nearfar::crash
