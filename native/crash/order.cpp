#include "crash/order.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/recorder.hpp"

namespace nearfar::crash {

namespace {

std::uint64_t dice = 0;
std::uint64_t switch_one_in = 8;
constexpr unsigned max_choices = 4096;
std::uint8_t choices[max_choices];
bool is_by_choice = false;
unsigned choices_given = 0;
unsigned choices_made = 0;

void read_choices() {
  const char* const path = getenv(NF_CRASH_CHOICES);
  if (path == nullptr) return;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const long received = syscall(SYS_read, file, choices, sizeof choices);
  syscall(SYS_close, file);
  is_by_choice = received >= 0;
  choices_given = received < 0 ? 0 : static_cast<unsigned>(received);
}

}  // namespace

void begin_order() {
  read_choices();
  dice = header()->schedule;
  // Rare switches find bugs that need long runs of a thread; frequent ones find bugs that need
  // short runs.
  constexpr std::uint64_t rates[] = {8, 2, 32};
  switch_one_in = rates[header()->schedule % 3];
}

void end_order() { is_by_choice = false; }

bool by_choice() { return is_by_choice; }

// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t draw() {
  dice += 0x9e3779b97f4a7c15ULL;
  std::uint64_t x = dice;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

bool draws_switch() { return draw() % switch_one_in == 0; }

int choose(int stay, bool leaves, std::uint64_t ready) {
  if (ready == 0) return -1;
  // Turns that are not recorded do not count as choices.
  const unsigned made = recording() ? choices_made++ : max_choices;
  const auto is_ready = [&](int number) { return (ready >> number & 1) != 0; };
  if (made < choices_given && choices[made] < 64 && is_ready(choices[made])) return choices[made];
  for (int i = leaves ? 1 : 0; i <= 64; ++i) {
    const int number = (stay < 0 ? i : stay + i) % 64;
    if (is_ready(number)) return number;
  }
  return -1;
}

void record_turn(int chosen, std::uint64_t ready, const Step& step) {
  if (chosen < 0 || choices_made > max_choices || !recording()) return;
  append(NF_CRASH_TURN, step.first, ready, nullptr, &step.count, sizeof step.count,
         static_cast<std::uint32_t>(chosen) | static_cast<std::uint32_t>(step.kind) << 16);
}

std::uint64_t number_of_object(const void* object) {
  // Addresses differ from run to run, so objects are numbered. Objects beyond the table share a
  // number.
  struct Numbered {
    const void* object;
    std::uint64_t number;
  };
  constexpr std::uint64_t slots = 1u << 13;
  static Numbered table[slots];
  static std::uint64_t count = 0;
  Gate const held;
  std::uint64_t at = (reinterpret_cast<std::uint64_t>(object) * 0x9e3779b97f4a7c15ULL) >> 51;
  while (table[at].object != nullptr && table[at].object != object) at = (at + 1) % slots;
  if (table[at].object == object) return table[at].number;
  if (count < slots / 2) table[at] = {object, count++};
  return table[at].object == object ? table[at].number : slots;
}

void record_sync(const void* object, Sync sync) {
  // A signal handler may use a lock while its thread records or switches.
  if (!scheduled() || header() == nullptr || Lock::held_here() || Gate::held_here()) return;
  const std::uint64_t number = number_of_object(object);
  Lock const lock;
  if (!recording()) return;
  append(NF_CRASH_SYNC, number, 0, nullptr, nullptr, 0, static_cast<std::uint32_t>(sync));
}

}  // namespace nearfar::crash
