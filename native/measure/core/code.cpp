#include "measure/core/code.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace nearfar::measure {
namespace {

// Builds machine code. Registers: rdi pointers, rsi data, rdx rounds, rcx a writable page on the
// stack, r12 and r13 chains; the others are free.
class Emitter {
 public:
  Emitter& bytes(const std::vector<unsigned>& values) {
    for (const unsigned value : values) code_.push_back(static_cast<std::uint8_t>(value));
    return *this;
  }
  Emitter& word(std::int32_t value) {
    const auto raw = std::bit_cast<std::uint32_t>(value);
    return bytes({raw & 255U, raw >> 8U & 255U, raw >> 16U & 255U, raw >> 24U});
  }
  [[nodiscard]] std::size_t size() const { return code_.size(); }
  // dec rdx; jnz back to `top`
  Emitter& until_done(std::size_t top) {
    bytes({0x48, 0xff, 0xca, 0x0f, 0x85});
    return word(static_cast<std::int32_t>(top) - static_cast<std::int32_t>(size() + 4));
  }
  // push rbx, rbp, r12, r13; rcx = a page on the stack, which fillers access
  Emitter& prologue() {
    return bytes({0x53, 0x55, 0x41, 0x54, 0x41, 0x55})
        .bytes({0x48, 0x81, 0xec, 0x00, 0x10, 0x00, 0x00})
        .bytes({0x48, 0x89, 0xe1})
        .bytes({0x31, 0xc0, 0xbb, 0x01, 0x00, 0x00, 0x00});  // eax = 0, ebx = 1
  }
  Emitter& epilogue() {
    return bytes({0x48, 0x81, 0xc4, 0x00, 0x10, 0x00, 0x00})
        .bytes({0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3});
  }
  [[nodiscard]] Code code() const { return Code(code_); }

 private:
  std::vector<std::uint8_t> code_;
};

// Emits the i-th filler instruction. Fillers use r8 to r11 and xmm2 to xmm7 in turn, and lines of
// the page on the stack.
using Emit = void (*)(Emitter&, unsigned i);

std::int32_t line(unsigned i) { return static_cast<std::int32_t>(i % 60) * 64; }

const std::map<std::string, Emit>& fillers() {
  static const std::map<std::string, Emit> all{
      // Registers: integer, vector, flags.
      {"lea",
       [](Emitter& e, unsigned i) {
         e.bytes({0x44, 0x8d, 0x40U | (i & 3U) << 3U, 1});
       }},
      {"vector add",
       [](Emitter& e, unsigned i) {
         e.bytes({0xc5, 0xf9, 0xfe, 0xc1U | (i % 6U + 2U) << 3U});
       }},
      {"test",
       [](Emitter& e, unsigned) {
         e.bytes({0x85, 0xc0});
       }},
      // These need no physical register on cores that eliminate them during renaming.
      {"move",
       [](Emitter& e, unsigned i) {
         e.bytes({0x41, 0x89, 0xc0U | (i & 3U)});
       }},
      {"vector move",
       [](Emitter& e, unsigned i) {
         e.bytes({0xc5, 0xf8, 0x28, 0xc1U | (i % 6U + 2U) << 3U});
       }},
      {"zero",
       [](Emitter& e, unsigned i) {
         e.bytes({0x45, 0x31, 0xc0U | (i & 3U) * 9U});
       }},
      {"nop", [](Emitter& e, unsigned) { e.bytes({0x90}); }},
      // Hits of the first-level cache: mov [rcx + line], ebx; mov r8..r11, [rcx + line].
      {"store",
       [](Emitter& e, unsigned i) {
         e.bytes({0x89, 0x99}).word(line(i));
       }},
      {"load",
       [](Emitter& e, unsigned i) {
         e.bytes({0x4c, 0x8b, 0x81U | (i & 3U) << 3U}).word(line(i));
       }},
  };
  return all;
}

struct Operation {
  std::vector<unsigned> start;  // sets the operands
  std::vector<unsigned> step;
};

const std::map<std::string, Operation>& operations() {
  // xmm0 = xmm1 = 1.0 + 2^-20: mov rax, imm64; movq xmm0, rax; movq xmm1, rax
  static const std::vector<unsigned> floats{0x48, 0xb8, 0x00, 0x00, 0x00, 0x00, 0x01,
                                            0x00, 0xf0, 0x3f, 0x66, 0x48, 0x0f, 0x6e,
                                            0xc0, 0x66, 0x48, 0x0f, 0x6e, 0xc8};
  static const std::map<std::string, Operation> all{
      {"integer add", {{}, {0x48, 0x01, 0xd8}}},             // add rax, rbx
      {"integer multiply", {{}, {0x48, 0x0f, 0xaf, 0xc3}}},  // imul rax, rbx
      // Large dividends: rbp = 2^62 + 1, rbx = 3; or rax, rbp; xor edx, edx; div rbx.
      {"integer divide",
       {{0x48, 0xbd, 1, 0, 0, 0, 0, 0, 0, 0x40, 0xbb, 3, 0, 0, 0},
        {0x48, 0x09, 0xe8, 0x31, 0xd2, 0x48, 0xf7, 0xf3}}},
      {"float add", {floats, {0xf2, 0x0f, 0x58, 0xc1}}},
      {"float multiply", {floats, {0xf2, 0x0f, 0x59, 0xc1}}},
      {"float fma", {floats, {0xc4, 0xe2, 0xf1, 0xa9, 0xc1}}},  // vfmadd213sd xmm0, xmm1, xmm1
      {"float divide", {floats, {0xf2, 0x0f, 0x5e, 0xc1}}},
  };
  return all;
}

template <class Map>
std::vector<std::string> names_of(const Map& all) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const auto& [name, code] : all) names.push_back(name);
  return names;
}

template <class Map>
const auto& look_up(const Map& all, const std::string& name) {
  const auto entry = all.find(name);
  if (entry == all.end()) throw std::invalid_argument("unknown instruction '" + name + "'");
  return entry->second;
}

}  // namespace

Code::Code(const std::vector<std::uint8_t>& bytes) : size_{bytes.size()} {
  if (const std::string reason = missing_code(); !reason.empty()) throw std::runtime_error(reason);
  memory_ = os::map_anonymous(size_, os::Pages::base);
  std::memcpy(memory_, bytes.data(), bytes.size());
  try {
    os::make_executable(memory_, size_);
  } catch (...) {
    os::unmap(memory_, size_);
    throw;
  }
}

Code::Code(Code&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)), size_(other.size_) {}

void Code::run(void** pointers, const void* data, std::uint64_t rounds) const {
  reinterpret_cast<Function>(memory_)(pointers, data, rounds);
}

std::string missing_code() {
#if defined(__x86_64__)
  // Vector fillers are AVX instructions.
  return __builtin_cpu_supports("avx") ? "" : "generated instructions need a processor with AVX";
#else
  return "code is generated for x86-64 only";
#endif
}

std::vector<std::string> filler_names() { return names_of(fillers()); }

std::vector<std::string> operation_names() {
  std::vector<std::string> names = names_of(operations());
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("fma")) std::erase(names, "float fma");
#endif
  return names;
}

Code overlap_code(const std::vector<std::string>& names, unsigned count) {
  if (names.empty()) throw std::invalid_argument("no instruction to place between misses");
  Emitter code;
  code.prologue().bytes({0x4c, 0x8b, 0x27, 0x4c, 0x8b, 0x6f, 0x08});  // r12 = [rdi], r13 = [rdi+8]
  const std::size_t top = code.size();
  for (unsigned half = 0; half < 2; ++half) {
    if (half == 0) {
      code.bytes({0x4d, 0x8b, 0x24, 0x24});  // mov r12, [r12]
    } else {
      code.bytes({0x4d, 0x8b, 0x6d, 0x00});  // mov r13, [r13]
    }
    for (unsigned i = 0; i < count; ++i) {
      look_up(fillers(), names[i % names.size()])(code, i / static_cast<unsigned>(names.size()));
    }
  }
  code.until_done(top).bytes({0x4c, 0x89, 0x27, 0x4c, 0x89, 0x6f, 0x08});
  return code.epilogue().code();
}

Code chains_code(unsigned chains) {
  Emitter code;
  code.prologue();
  const std::size_t top = code.size();
  for (unsigned i = 0; i < chains; ++i) {
    const auto at = static_cast<std::int32_t>(i * sizeof(void*));
    code.bytes({0x48, 0x8b, 0x87}).word(at);  // mov rax, [rdi + at]
    code.bytes({0x48, 0x8b, 0x00});           // mov rax, [rax]
    code.bytes({0x48, 0x89, 0x87}).word(at);  // mov [rdi + at], rax
  }
  return code.until_done(top).epilogue().code();
}

Code filler_code(const std::string& filler, unsigned count) {
  Emitter code;
  code.prologue();
  const std::size_t top = code.size();
  for (unsigned i = 0; i < count; ++i) look_up(fillers(), filler)(code, i);
  return code.until_done(top).epilogue().code();
}

Code dependent_code(const std::string& name, unsigned count) {
  const Operation& operation = look_up(operations(), name);
  Emitter code;
  code.prologue().bytes(operation.start);
  code.bytes({0x49, 0x89, 0xd0});  // mov r8, rdx: division needs rdx
  const std::size_t top = code.size();
  for (unsigned i = 0; i < count; ++i) code.bytes(operation.step);
  code.bytes({0x4c, 0x89, 0xc2, 0x49, 0xff, 0xc8});  // mov rdx, r8; dec r8
  return code.until_done(top).epilogue().code();
}

Code branch_code() {
  Emitter code;
  code.prologue();
  const std::size_t top = code.size();
  code.bytes({0x48, 0x8b, 0x06, 0x48, 0x83, 0xc6, 0x08});  // mov rax, [rsi]; add rsi, 8
  for (unsigned i = 0; i < 64; ++i) {
    // shr rax, 1; jnc over the lea; lea r8, [r8 + 1]
    code.bytes({0x48, 0xd1, 0xe8, 0x73, 0x04, 0x4d, 0x8d, 0x40, 0x01});
  }
  return code.until_done(top).epilogue().code();
}

}  // namespace nearfar::measure
