// Lengths and operands of x86-64 instructions: Intel SDM volume 2, chapter 2 and appendix A.
//
// This code runs inside the program under test. Debian has Zydis and XED only as shared libraries,
// which would have to be loaded there, so this decoder is used instead. A test compares it with
// objdump, instruction by instruction.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nearfar::crash {

constexpr std::size_t max_instruction_bytes = 15;

struct Instruction {
  unsigned length = 0;  // 0: not an instruction in 64-bit mode
  unsigned map = 0;     // 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A, 5 and 6: of EVEX, 8 to 10: of XOP
  unsigned opcode = 0;
  unsigned opcode_at = 0;  // bytes of prefixes before the opcode or its 0F
  unsigned modrm = 0;
  unsigned modrm_at = 0;     // bytes before ModRM
  unsigned operand_end = 0;  // bytes before immediates
  bool has_modrm = false;
  bool lock = false;
  bool operand16 = false;  // prefix 66
  bool repeat = false;     // prefix F2 or F3
  bool address32 = false;  // prefix 67
  bool wide = false;       // REX.W
  unsigned reg_high = 0;   // 8 if REX or VEX extends the register operand
  bool rex = false;
  unsigned char escape = 0;   // first byte of VEX, EVEX or XOP, or 0
  unsigned vector_bytes = 0;  // VEX and EVEX: 16, 32 or 64

  // Memory operand.
  unsigned base = none;  // number of the register
  unsigned index = none;
  unsigned scale = 0;  // log2
  std::int32_t displacement = 0;
  bool from_next = false;  // relative to the next instruction
  unsigned segment = 0;    // prefix 64 or 65

  static constexpr unsigned none = 16;
  bool has_memory() const { return has_modrm && modrm < 0xC0; }
  unsigned reg() const { return modrm >> 3 & 7; }
};

// Decodes the instruction in `code`; bytes from `available` on are not read.
Instruction decode(const unsigned char* code, std::size_t available);

// Instructions that make stores durable, or are ordered with them.
enum class BareKind { none, clflush, clflushopt, clwb, fence };
BareKind bare_kind(const Instruction& instruction);
// Whether the instruction is locked and so acts as a fence (SDM volume 3, 9.2.2 and the page of
// CLWB).
bool is_locked(const Instruction& instruction);
// Returns the bytes of memory that an instruction loads, changes and stores without a lock, or 0.
unsigned modified_bytes(const Instruction& instruction);
// Returns the maximum number of bytes that an instruction stores to its operand. XSAVE and
// instructions that store x87 state are not counted.
unsigned stored_bytes(const Instruction& instruction);
// Returns the maximum number of bytes that an instruction loads from or stores to its operand, with
// the same exceptions.
unsigned accessed_bytes(const Instruction& instruction);
// Returns the number of bytes that a non-temporal or direct store writes past the caches, or 0.
unsigned stream_bytes(const Instruction& instruction);

}  // namespace nearfar::crash
