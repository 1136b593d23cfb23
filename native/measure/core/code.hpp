// Generated loops of x86-64 instructions that show what a core holds between two misses and how
// fast it is. On other processors missing_code() returns the reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/os.hpp"

namespace nearfar::measure {

// Executable memory that contains a function of (pointers, data, rounds).
class Code {
 public:
  using Function = void (*)(void** pointers, const void* data, std::uint64_t rounds);

  explicit Code(const std::vector<std::uint8_t>& bytes);
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  Code(Code&& other) noexcept;
  Code& operator=(Code&&) = delete;
  ~Code() { os::unmap(memory_, size_); }
  void run(void** pointers, const void* data, std::uint64_t rounds) const;

 private:
  std::byte* memory_ = nullptr;
  Bytes size_{};
};

// Why code cannot be generated here, as a sentence without its subject; empty if it can.
std::string missing_code();

// Names of instructions that can be placed between two misses, and of operations that can form a
// dependent chain.
std::vector<std::string> filler_names();
std::vector<std::string> operation_names();

// A round loads from two chains, each load followed by `count` fillers.
Code overlap_code(const std::vector<std::string>& fillers, unsigned count);
// A round issues one load of each of `chains` chains.
Code chains_code(unsigned chains);
// A round consists of `count` independent fillers.
Code filler_code(const std::string& filler, unsigned count);
// A round consists of a chain of `count` dependent operations.
Code dependent_code(const std::string& operation, unsigned count);
// A round reads 64 bits of data and branches on each.
Code branch_code();

}  // namespace nearfar::measure
