// Marks of operations (nearfar/crash.h).
#include <stdio.h>
#include <string.h>

#include "crash/hooks_tx.hpp"
#include "nearfar/crash.h"

using namespace nearfar::crash;

namespace {

// Maximum length of a text; longer keys and values are cut.
constexpr std::size_t max_text = 1024;
unsigned long operations = 0;
__attribute__((tls_model("initial-exec"))) thread_local unsigned long operation = 0;

// Appends a text and a zero byte; returns the new end.
std::size_t add(char* to, std::size_t at, const char* text) {
  const std::size_t bytes = strnlen(text, max_text - 1);
  memcpy(to + at, text, bytes);
  to[at + bytes] = '\0';
  return at + bytes + 1;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void nearfar_crash_operation(const char* kind, const char* key_text, const char* value_text,
                             long long key, long long value) {
  char numbers[2][24];
  snprintf(numbers[0], sizeof numbers[0], "%lld", key);
  snprintf(numbers[1], sizeof numbers[1], "%lld", value);
  char texts[3 * max_text];
  std::size_t used = add(texts, 0, kind);
  used = add(texts, used, key_text == nullptr ? numbers[0] : key_text);
  const char* const no_value = key_text == nullptr ? numbers[1] : "";
  used = add(texts, used, value_text == nullptr ? no_value : value_text);
  const Stack stack = NEARFAR_CRASH_STACK;
  Lock const lock;
  if (header() == nullptr) return;
  if (recording()) record_pending();
  // Also recorded before the pool is mapped: the operation may still be in flight when the pool is
  // mapped.
  operation = operations++;
  append(NF_CRASH_OPERATION, operation, 0, &stack, texts, static_cast<std::uint32_t>(used));
  append(NF_CRASH_BEGIN, operation, 0, nullptr, nullptr, 0);
}

void nearfar_crash_outcome(long long outcome) {
  char text[24];
  const int bytes = snprintf(text, sizeof text, "%lld", outcome);
  Lock const lock;
  if (header() == nullptr) return;
  if (recording()) record_pending();
  append(NF_CRASH_OUTCOME, 0, 0, nullptr, text, static_cast<std::uint32_t>(bytes));
  append(NF_CRASH_END, operation, 0, nullptr, nullptr, 0);
}
}
#pragma GCC visibility pop
