// Judges states: each distinct image once, by all checkers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "crash/explore/accepted_states.hpp"
#include "crash/explore/checker.hpp"
#include "crash/explore/image.hpp"
#include "crash/explore/memory.hpp"

namespace nearfar::crash {

struct Check {
  Command command;
  bool oracle = false;  // nearfar judges its output
  bool main_states_only = false;
  bool by_operation = false;  // the checker receives the completed operations
  std::unique_ptr<Checker> served;
  std::unique_ptr<Checker> plain;
};

// A set of keys, 8 bytes each.
class KeySet {
 public:
  // Returns false if the key was in the set.
  bool add(std::uint64_t key);
  bool has(std::uint64_t key) const;

 private:
  std::size_t slot_of(std::uint64_t key) const;
  std::vector<std::uint64_t> slots_ = std::vector<std::uint64_t>(1 << 12);
  std::size_t count_ = 0;
};

class Judge {
 public:
  // `accepted`: accepted states shared by all workers, or null.
  Judge(Image& image, std::vector<Check>& checks, AcceptedStates* accepted)
      : image_(image), checks_(checks), shared_(accepted) {}

  // Returns whether the state's image is new. From then on, equal images are not.
  bool claim(const Memory& memory, const State& state);
  // Judges claimed states of one point in order; the first `main` are main states (states.hpp).
  // `position`: number of events so far.
  std::vector<const Verdict*> judge_all(const Memory& memory, const std::vector<State>& batch,
                                        std::uint64_t position, std::size_t main);
  // Returns how many states are worth judging together.
  std::size_t batch_states() const;
  // Returns the verdict, from the cache if it is known.
  const Verdict& judge(const Memory& memory, const State& state, std::uint64_t position, bool main);
  // Judges by the plain commands, without the cache.
  Verdict judge_by_plain(const Memory& memory, const State& state, std::uint64_t position);

  // Sends the non-zero pages of the state's image: I, count, each page's offset and content.
  void send_image(const Memory& memory, const State& state);

  std::uint64_t states = 0;
  std::uint64_t time_ns = 0;
  // Whether later checks get less time once one has hung; nearfar confirms each bug with the full
  // time.
  bool shortens_hangs = false;

 private:
  std::uint64_t key_of(const Memory& memory, const State& state) const;
  const Verdict& keep(std::uint64_t key, Verdict verdict);
  void note_hang(const Verdict& verdict, std::uint64_t begin_ns);
  void patch(const Memory& memory, const State& state);
  void undo(const State& state);
  void run_batch(Check& check, const Memory& memory, const std::vector<State>& batch,
                 const std::vector<std::size_t>& wanted, std::uint64_t position,
                 std::vector<Verdict>& results);
  Verdict run_once(Check& check, const Memory& memory, const State& state, std::uint64_t position,
                   bool plain);
  static Verdict run_check(Check& check, const Cut& cut, bool plain);
  Verdict run(const Memory& memory, const State& state, std::uint64_t position, bool main,
              bool plain);
  Verdict ask_oracle(const Memory& memory, std::uint64_t position, const Verdict& verdict);

  Image& image_;
  std::vector<Check>& checks_;
  AcceptedStates* shared_;
  std::uint64_t slowest_ns_ = 0;  // slowest check that did not hang
  KeySet seen_;
  // Each distinct verdict is stored once, because thousands of images are rejected with the same
  // output.
  std::unordered_map<std::uint64_t, const Verdict*> rejected_;
  std::unordered_map<std::string, Verdict> verdicts_;
  std::unordered_map<std::string, Verdict> answers_;
  Verdict accepted_;
};

}  // namespace nearfar::crash
