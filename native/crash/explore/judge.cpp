#include "crash/explore/judge.hpp"

#include <time.h>

#include <exception>
#include <set>

#include "crash/explore/hash.hpp"
#include "crash/explore/wire.hpp"

namespace nearfar::crash {

namespace {

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

Cut cut_of(const Memory& memory) {
  Cut cut;
  cut.done = memory.done;
  cut.begun = memory.begun;
  for (const long operation : memory.in_flight) {
    if (operation >= 0 && cut.in_flight_count < most_in_flight) {
      cut.in_flight[cut.in_flight_count++] = operation;
    }
  }
  return cut;
}

}  // namespace

std::size_t Seen::place(std::uint64_t key) const {
  std::size_t at = key & (slots_.size() - 1);
  while (slots_[at] != 0 && slots_[at] != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

bool Seen::has(std::uint64_t key) const {
  // 0 is an empty slot.
  return slots_[place(key == 0 ? 1 : key)] != 0;
}

bool Seen::add(std::uint64_t key) {
  if (key == 0) key = 1;
  if (2 * count_ >= slots_.size()) {
    std::vector<std::uint64_t> old(slots_.size() * 2);
    old.swap(slots_);
    for (const std::uint64_t one : old) {
      if (one != 0) slots_[place(one)] = one;
    }
  }
  const std::size_t at = place(key);
  if (slots_[at] != 0) return false;
  slots_[at] = key;
  count_ += 1;
  return true;
}

std::uint64_t Judge::key_of(const Memory& memory, const State& state) const {
  std::uint64_t key = mix(memory.key_of(state));
  for (const Check& check : checks_) {
    if (check.oracle) key = mix(key ^ memory.history);
    if (!check.by_operation) continue;
    key = mix(key ^ static_cast<std::uint64_t>(memory.done)) + 1;
    key = mix(key ^ static_cast<std::uint64_t>(memory.begun)) + 2;
    for (const long one : memory.in_flight) key = mix(key ^ static_cast<std::uint64_t>(one)) + 3;
  }
  return key;
}

bool Judge::is_new(const Memory& memory, const State& state) const {
  return !seen_.has(key_of(memory, state));
}

const Verdict& Judge::judge(const Memory& memory, const State& state, std::uint64_t position,
                            bool main) {
  const std::uint64_t key = key_of(memory, state);
  if (!seen_.add(key)) {
    const auto known = refused_.find(key);
    return known == refused_.end() ? fine_ : *known->second;
  }
  const std::uint64_t begun = now_ns();
  Verdict verdict = run(memory, state, position, main, false);
  time_ns += now_ns() - begun;
  states += 1;
  if (verdict.symptom.empty()) {
    fine_ = std::move(verdict);
    return fine_;
  }
  const Verdict& kept =
      verdicts_.try_emplace(verdict.symptom + '\n' + verdict.said, verdict).first->second;
  refused_.emplace(key, &kept);
  return kept;
}

Verdict Judge::judge_plainly(const Memory& memory, const State& state, std::uint64_t position) {
  return run(memory, state, position, true, true);
}

void Judge::patch(const Memory& memory, const State& state) {
  for (const InState& one : state) {
    image_.patch(one.offset, memory.line(one.offset)->stores[one.stores - 1].content);
  }
}

Verdict Judge::run(const Memory& memory, const State& state, std::uint64_t position, bool main,
                   bool plainly) {
  Verdict found;
  const Cut cut = cut_of(memory);
  for (Check& check : checks_) {
    if (check.rarely && !main) continue;
    // Anew for each: the one before may have changed what was there.
    patch(memory, state);
    Verdict verdict = run_check(check, cut, plainly);
    for (const InState& one : state) image_.undo(one.offset);
    image_.mend(!verdict.touched);
    if (check.oracle) verdict = ask(memory, position, verdict);
    const bool refused = !verdict.symptom.empty();
    if (found.said.empty() || refused) found = std::move(verdict);
    if (refused) break;
  }
  return found;
}

Verdict Judge::run_check(Check& check, const Cut& cut, bool plainly) {
  if (check.served != nullptr && !plainly) {
    try {
      return check.served->run(cut);
    } catch (const std::exception&) {
      // Its server ended, by the checker's hand or for want of memory.
      check.served.reset();
    }
  }
  Verdict verdict = check.plain->run(cut);
  verdict.touched = true;
  return verdict;
}

void Judge::send_image(const Memory& memory, const State& state) {
  patch(memory, state);
  Frame frame('I');
  const std::vector<std::uint64_t> durable = image_.pages();
  std::set<std::uint64_t> pages(durable.begin(), durable.end());
  for (const InState& one : state) pages.insert(one.offset / NF_CRASH_PAGE * NF_CRASH_PAGE);
  frame.number(pages.size());
  for (const std::uint64_t page : pages) {
    frame.number(page).bytes(image_.held() + page, NF_CRASH_PAGE);
  }
  for (const InState& one : state) image_.undo(one.offset);
  frame.send();
}

Verdict Judge::ask(const Memory& memory, std::uint64_t position, const Verdict& verdict) {
  const std::string question =
      std::to_string(memory.history) + '\n' + verdict.symptom + '\n' + verdict.said;
  const auto known = answers_.find(question);
  if (known != answers_.end()) return known->second;
  Frame('O').number(position).text(verdict.symptom).text(verdict.said).send();
  Taken answer = Taken::take();
  Verdict judged;
  judged.symptom = answer.text();
  judged.said = answer.text();
  judged.touched = verdict.touched;
  // Of long outputs only few are worth their room.
  if (question.size() < (1u << 16) || answers_.size() < 64) answers_.emplace(question, judged);
  return judged;
}

}  // namespace nearfar::crash
