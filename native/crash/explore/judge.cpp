#include "crash/explore/judge.hpp"

#include <time.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

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
    if (operation >= 0 && cut.in_flight_count < max_in_flight) {
      cut.in_flight[cut.in_flight_count++] = operation;
    }
  }
  return cut;
}

Patch patch_of(const Memory& memory, const State& state) {
  Patch patch;
  patch.reserve(state.size());
  for (const InState& written : state) {
    patch.push_back(
        {written.offset, memory.line(written.offset)->stores[written.stores - 1].content});
  }
  return patch;
}

}  // namespace

std::size_t KeySet::slot_of(std::uint64_t key) const {
  std::size_t at = key & (slots_.size() - 1);
  while (slots_[at] != 0 && slots_[at] != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

bool KeySet::has(std::uint64_t key) const {
  // 0 is an empty slot.
  return slots_[slot_of(key == 0 ? 1 : key)] != 0;
}

bool KeySet::add(std::uint64_t key) {
  if (key == 0) key = 1;
  if (2 * count_ >= slots_.size()) {
    std::vector<std::uint64_t> old(slots_.size() * 2);
    old.swap(slots_);
    for (const std::uint64_t key_before : old) {
      if (key_before != 0) slots_[slot_of(key_before)] = key_before;
    }
  }
  const std::size_t at = slot_of(key);
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
    for (const long operation : memory.in_flight) {
      key = mix(key ^ static_cast<std::uint64_t>(operation)) + 3;
    }
  }
  return key;
}

bool Judge::claim(const Memory& memory, const State& state) {
  return seen_.add(key_of(memory, state));
}

std::size_t Judge::batch_states() const {
  const bool batches = checks_.front().served != nullptr && !checks_.front().oracle &&
                       checks_.front().served->takes_batches();
  return batches ? max_batch_states : 1;
}

const Verdict& Judge::keep(std::uint64_t key, Verdict verdict) {
  if (verdict.symptom.empty()) {
    accepted_ = std::move(verdict);
    return accepted_;
  }
  const Verdict& kept =
      verdicts_.try_emplace(verdict.symptom + '\n' + verdict.output, verdict).first->second;
  rejected_.emplace(key, &kept);
  return kept;
}

std::vector<const Verdict*> Judge::judge_all(const Memory& memory, const std::vector<State>& batch,
                                             std::uint64_t position, std::size_t main) {
  const std::uint64_t begin_ns = now_ns();
  std::vector<Verdict> results(batch.size());
  std::vector<std::uint64_t> keys;
  keys.reserve(batch.size());
  for (const State& state : batch) keys.push_back(key_of(memory, state));
  std::vector<bool> known(batch.size());
  for (std::size_t i = 0; shared_ != nullptr && i < batch.size(); ++i) {
    known[i] = shared_->has(keys[i]);
  }
  for (Check& check : checks_) {
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const bool judged = known[i] || !results[i].symptom.empty();
      if (!judged && (i < main || !check.main_states_only)) wanted.push_back(i);
    }
    run_batch(check, memory, batch, wanted, position, results);
  }
  time_ns += now_ns() - begin_ns;
  const bool some_are_main_only = std::any_of(
      checks_.begin(), checks_.end(), [](const Check& check) { return check.main_states_only; });
  std::vector<const Verdict*> verdicts;
  verdicts.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    // Some checks skip states that are not main states.
    if (shared_ != nullptr && results[i].symptom.empty() && (i < main || !some_are_main_only)) {
      shared_->add(keys[i]);
    }
    verdicts.push_back(&keep(keys[i], std::move(results[i])));
  }
  return verdicts;
}

void Judge::run_batch(Check& check, const Memory& memory, const std::vector<State>& batch,
                      const std::vector<std::size_t>& wanted, std::uint64_t position,
                      std::vector<Verdict>& results) {
  std::vector<Patch> patches;
  const bool batches = check.served != nullptr && !check.oracle && check.served->takes_batches() &&
                       wanted.size() > 1;
  if (batches) {
    patches.reserve(wanted.size());
    for (const std::size_t i : wanted) patches.push_back(patch_of(memory, batch[i]));
  }
  for (std::size_t at = 0; at < wanted.size();) {
    if (batches && check.served != nullptr) {
      Accepted accepted;
      const std::uint64_t begin_ns = now_ns();
      try {
        accepted = check.served->accept(cut_of(memory), patches.data() + at, wanted.size() - at);
      } catch (const std::exception&) {
        check.served.reset();
        // The image may contain any of the states.
        accepted = {0, true};
      }
      at += accepted.states;
      if (at == wanted.size()) note_hang({}, begin_ns);
      // A checker that ended in the middle of a check left its state in the image.
      if (at < wanted.size()) undo(batch[wanted[at]]);
      image_.restore(!accepted.may_have_changed);
      if (at == wanted.size()) return;
      if (accepted.states != 0 && accepted.may_have_changed && check.served != nullptr) continue;
    }
    const std::size_t i = wanted[at++];
    Verdict verdict = run_once(check, memory, batch[i], position, false);
    if (results[i].output.empty() || !verdict.symptom.empty()) results[i] = std::move(verdict);
  }
}

const Verdict& Judge::judge(const Memory& memory, const State& state, std::uint64_t position,
                            bool main) {
  const std::uint64_t key = key_of(memory, state);
  if (!seen_.add(key)) {
    const auto known = rejected_.find(key);
    return known == rejected_.end() ? accepted_ : *known->second;
  }
  const std::uint64_t begin_ns = now_ns();
  Verdict verdict = run(memory, state, position, main, false);
  time_ns += now_ns() - begin_ns;
  states += 1;
  return keep(key, std::move(verdict));
}

Verdict Judge::judge_by_plain(const Memory& memory, const State& state, std::uint64_t position) {
  const Command& command = checks_.front().command;
  const int limit_ms = std::exchange(*command.limit_ms, command.timeout_ms);
  Verdict verdict = run(memory, state, position, true, true);
  *command.limit_ms = limit_ms;
  return verdict;
}

// After one hang, more are likely: from then on, a check may take at most a hundred times as long
// as the slowest check that did not hang.
void Judge::note_hang(const Verdict& verdict, std::uint64_t begin_ns) {
  constexpr std::uint64_t times = 100;
  constexpr std::uint64_t min_ms = 50;
  if (verdict.symptom != "hang") {
    slowest_ns_ = std::max(slowest_ns_, now_ns() - begin_ns);
  } else if (shortens_hangs) {
    const Command& command = checks_.front().command;
    const std::uint64_t short_ms = std::max(min_ms, times * slowest_ns_ / 1000000);
    *command.limit_ms =
        std::min(*command.limit_ms, static_cast<int>(std::min<std::uint64_t>(short_ms, INT32_MAX)));
  }
}

void Judge::patch(const Memory& memory, const State& state) {
  for (const InState& written : state) {
    image_.patch(written.offset, memory.line(written.offset)->stores[written.stores - 1].content);
  }
}

void Judge::undo(const State& state) {
  for (const InState& written : state) image_.undo(written.offset);
}

Verdict Judge::run(const Memory& memory, const State& state, std::uint64_t position, bool main,
                   bool plain) {
  Verdict result;
  for (Check& check : checks_) {
    if (check.main_states_only && !main) continue;
    Verdict verdict = run_once(check, memory, state, position, plain);
    const bool rejected = !verdict.symptom.empty();
    if (result.output.empty() || rejected) result = std::move(verdict);
    if (rejected) break;
  }
  return result;
}

// The image is patched for each checker, since the previous one may have changed it.
Verdict Judge::run_once(Check& check, const Memory& memory, const State& state,
                        std::uint64_t position, bool plain) {
  patch(memory, state);
  const std::uint64_t begin_ns = now_ns();
  Verdict verdict = run_check(check, cut_of(memory), plain);
  note_hang(verdict, begin_ns);
  undo(state);
  image_.restore(!verdict.may_have_changed);
  return check.oracle ? ask_oracle(memory, position, verdict) : verdict;
}

Verdict Judge::run_check(Check& check, const Cut& cut, bool plain) {
  if (check.served != nullptr && !plain) {
    try {
      return check.served->run(cut);
    } catch (const std::exception&) {
      // The server ended, because the checker ended it or memory ran out.
      check.served.reset();
    }
  }
  Verdict verdict = check.plain->run(cut);
  verdict.may_have_changed = true;
  return verdict;
}

void Judge::send_image(const Memory& memory, const State& state) {
  patch(memory, state);
  Frame frame('I');
  const std::vector<std::uint64_t> durable = image_.pages();
  std::set<std::uint64_t> pages(durable.begin(), durable.end());
  for (const InState& written : state) pages.insert(written.offset / NF_CRASH_PAGE * NF_CRASH_PAGE);
  frame.number(pages.size());
  for (const std::uint64_t page : pages) {
    frame.number(page).bytes(image_.mapped() + page, NF_CRASH_PAGE);
  }
  undo(state);
  frame.send();
}

Verdict Judge::ask_oracle(const Memory& memory, std::uint64_t position, const Verdict& verdict) {
  const std::string question =
      std::to_string(memory.history) + '\n' + verdict.symptom + '\n' + verdict.output;
  const auto known = answers_.find(question);
  if (known != answers_.end()) return known->second;
  Frame('O').number(position).text(verdict.symptom).text(verdict.output).send();
  Request answer = Request::receive();
  Verdict judged;
  judged.symptom = answer.text();
  judged.output = answer.text();
  judged.may_have_changed = verdict.may_have_changed;
  // Caches only a few long outputs.
  if (question.size() < (1u << 16) || answers_.size() < 64) answers_.emplace(question, judged);
  return judged;
}

}  // namespace nearfar::crash
