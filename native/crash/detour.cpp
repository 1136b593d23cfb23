#include "crash/detour.hpp"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/operand.hpp"
#include "crash/trace.h"

namespace nearfar::crash {

namespace {

// Registers that a copy loads and saves, in the order of ucontext's gregs.
struct Registers {
  std::int64_t general[NGREG];
  void* vectors;           // the signal's XSAVE area
  std::uint64_t features;  // components of it to load
};
constexpr unsigned flags_at = REG_EFL * 8;
constexpr unsigned vectors_at = offsetof(Registers, vectors);
constexpr unsigned features_at = offsetof(Registers, features);
// CF, PF, AF, ZF, SF and OF; bit 1 is always set.
constexpr std::int64_t arithmetic_flags = 0x8D5;
constexpr std::int64_t fixed_flags = 2;

using Code = void(Registers*);
struct Copy {
  std::uint64_t address = 0;
  unsigned char original[max_instruction_bytes];
  Code* code = nullptr;
};
constexpr unsigned max_copies = 1u << 12;
constexpr unsigned copy_bytes = 320;
Copy copies[max_copies];
unsigned char* room = nullptr;
unsigned used = 0;
bool refused = false;

class Assembler {
 public:
  explicit Assembler(unsigned char* at) : at_(at) {}
  template <typename... Bytes>
  void bytes(Bytes... values) {
    ((*at_++ = static_cast<unsigned char>(values)), ...);
  }
  void copy(const unsigned char* from, std::size_t count) {
    memcpy(at_, from, count);
    at_ += count;
  }
  void offset(unsigned value) { bytes(value, value >> 8, 0, 0); }
  // mov between register `number` and its slot at rdi: 8B loads, 89 stores.
  void move(unsigned opcode, unsigned number) {
    bytes(number >= 8 ? 0x4C : 0x48, opcode, 0x80 | (number & 7) << 3 | 7);
    offset(static_cast<unsigned>(greg_of[number]) * 8);
  }

 private:
  unsigned char* at_;
};

constexpr unsigned rsp = 4;
constexpr unsigned rsi = 6;
constexpr unsigned rdi = 7;

// Returns a register for the address of the copy's operand: one that the instruction does not use.
// rax, rcx, rdx and rbx may be used implicitly.
unsigned address_register(const Instruction& instruction) {
  return instruction.reg() + instruction.reg_high == rsi ? rdi : rsi;
}

void write_instruction(Assembler& to, const Instruction& instruction, const unsigned char* code) {
  unsigned char head[max_instruction_bytes];
  memcpy(head, code, instruction.modrm_at);
  // The new operand needs neither the index bit nor the base bit of the prefix. VEX inverts these
  // bits.
  if (instruction.rex) head[instruction.opcode_at - 1] &= 0xFC;
  if (instruction.escape == 0xC4 || instruction.escape == 0x62)
    head[instruction.opcode_at + 1] |= 0x60;
  to.copy(head, instruction.modrm_at);
  to.bytes((instruction.modrm & 0x38) | address_register(instruction));
  to.copy(code + instruction.operand_end, instruction.length - instruction.operand_end);
}

// XSAVE and XRSTOR use rax, rdx and rcx.
void write_vector_operands(Assembler& to) {
  to.bytes(0x8B, 0x87);  // mov eax, features
  to.offset(features_at);
  to.bytes(0x8B, 0x97);  // mov edx, upper half of features
  to.offset(features_at + 4);
  to.bytes(0x48, 0x8B, 0x8F);  // mov rcx, vectors
  to.offset(vectors_at);
}

void write_code(unsigned char* at, const Instruction& instruction, const unsigned char* original,
                Detour kind) {
  Assembler to(at);
  to.bytes(0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57);  // push rbx, rbp, r12-r15
  to.bytes(0x57);                                                        // push rdi
  write_vector_operands(to);
  to.bytes(0x48, 0x0F, 0xAE, 0x29);  // xrstor64 [rcx]
  to.bytes(0xFF, 0xB7);              // push flags
  to.offset(flags_at);
  to.bytes(0x9D);  // popfq
  for (unsigned number = 0; number < 16; ++number) {
    if (number != rsp && number != rdi) to.move(0x8B, number);
  }
  to.move(0x8B, rdi);
  write_instruction(to, instruction, original);
  to.bytes(0x48, 0x87, 0x3C, 0x24);  // xchg [rsp], rdi
  for (unsigned number = 0; number < 16; ++number) {
    if (number != rsp && number != rdi) to.move(0x89, number);
  }
  to.bytes(0x9C, 0x8F, 0x87);  // pushfq; pop flags
  to.offset(flags_at);
  to.bytes(0x58, 0x48, 0x89, 0x87);  // pop rax, the program's rdi; mov its place, rax
  to.offset(REG_RDI * 8);
  if (kind == Detour::loads_and_stores) {
    write_vector_operands(to);
    to.bytes(0x48, 0x0F, 0xAE, 0x21);  // xsave64 [rcx]
  }
  to.bytes(0x41, 0x5F, 0x41, 0x5E, 0x41, 0x5D, 0x41, 0x5C, 0x5D, 0x5B, 0xC3);
}

bool has_room() {
  if (room == nullptr && !refused) {
    const long made =
        syscall(SYS_mmap, nullptr, max_copies * copy_bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    // Some systems forbid memory that is writable and executable.
    refused = made == -1;
    if (!refused) room = reinterpret_cast<unsigned char*>(made);
  }
  return room != nullptr && used < max_copies;
}

Copy* copy_of(const Instruction& instruction, std::uint64_t address, Detour kind) {
  const auto* const code = reinterpret_cast<const unsigned char*>(address);
  Copy& copy = copies[(address * 0x9e3779b97f4a7c15ULL) >> 52];
  static_assert(max_copies == 1u << (64 - 52));
  // Code that is generated at run time may change.
  if (copy.address == address && memcmp(copy.original, code, instruction.length) == 0) return &copy;
  if (copy.code == nullptr) {
    if (!has_room()) return nullptr;
    copy.code = reinterpret_cast<Code*>(room + std::size_t{used++} * copy_bytes);
  }
  copy.address = address;
  memcpy(copy.original, code, instruction.length);
  write_code(reinterpret_cast<unsigned char*>(copy.code), instruction, copy.original, kind);
  return &copy;
}

// Opcodes whose ModRM names no register besides the operand.
bool is_group(const Instruction& instruction) {
  const unsigned opcode = instruction.opcode;
  if (instruction.map == 1) return opcode == 0xBA || opcode == 0xC7 || (opcode & 0xF0) == 0x90;
  if (instruction.map != 0) return false;
  return (opcode & 0xFC) == 0x80 || (opcode & 0xFE) == 0xC0 || (opcode & 0xFE) == 0xC6 ||
         (opcode & 0xFC) == 0xD0 || (opcode & 0xFE) == 0xF6 || (opcode & 0xFE) == 0xFE;
}

// Whether the instruction only stores, or stores from a general register. Not supported: the stack,
// x87, control registers, bits addressed by a register, XSAVE, MOVDIR64B and ENQCMD, scatters and
// tiles.
bool only_stores(const Instruction& instruction) {
  const unsigned opcode = instruction.opcode;
  switch (instruction.escape != 0 ? instruction.map + 0x10 : instruction.map) {
    case 0:
      return opcode != 0x8F && (opcode < 0xD8 || opcode > 0xDF) &&
             (opcode != 0xFF || instruction.reg() < 2);
    case 1:
      return opcode > 0x01 && opcode != 0xAE && opcode != 0xAB && opcode != 0xB3 &&
             opcode != 0xBB && (opcode != 0xC7 || instruction.reg() == 1);
    case 2:
      return opcode != 0xF8;
    case 0x11:
      return opcode != 0xAE;
    case 0x12:
      return opcode != 0x4B && (opcode < 0xA0 || opcode > 0xA3);
    default:
      return instruction.map <= 6;
  }
}

// Whether the instruction only loads into a register that ModRM names. Not supported: segment
// registers, far pointers, a bit addressed by a register, gathers, and instructions with a third
// general register.
bool only_loads(const Instruction& instruction) {
  const unsigned opcode = instruction.opcode;
  switch (instruction.escape != 0 ? instruction.map + 0x10 : instruction.map) {
    case 0:
      return opcode != 0x8E;
    case 1:
      return opcode != 0xA3 && opcode != 0xB2 && opcode != 0xB4 && opcode != 0xB5;
    case 0x12:
      return (opcode < 0x90 || opcode > 0x93) && opcode < 0xF0;
    default:
      return true;
  }
}

bool has_vectors(const ucontext_t& context) {
  const auto* const area = reinterpret_cast<const unsigned char*>(context.uc_mcontext.fpregs);
  // asm/sigcontext.h: _fpx_sw_bytes and FP_XSTATE_MAGIC1.
  std::uint32_t magic = 0;
  if (area != nullptr) memcpy(&magic, area + 464, sizeof magic);
  return magic == 0x46505853;
}

}  // namespace

std::uint64_t detour_operand(const Instruction& instruction, std::uint64_t address,
                             std::uint64_t fault, const ucontext_t& context, Detour kind) {
  if (!instruction.has_memory() || instruction.segment != 0 || instruction.address32 ||
      !only_stores(instruction) || !has_vectors(context)) {
    return 0;
  }
  if (kind == Detour::loads_and_stores && !only_loads(instruction)) return 0;
  const bool names_rsp = instruction.reg() + instruction.reg_high == rsp &&
                         instruction.escape == 0 && !is_group(instruction);
  if (names_rsp) return 0;
  if (instruction.escape == 0x62) {
    // The fault's address equals the operand's, unless the operand straddles two pages or is
    // masked.
    const std::uint64_t in_page = fault % NF_CRASH_PAGE;
    const auto* const evex =
        reinterpret_cast<const unsigned char*>(address) + instruction.opcode_at;
    const bool masked = (evex[3] & 7) != 0;
    return masked || in_page == 0 || in_page + max_store_bytes > NF_CRASH_PAGE ? 0 : fault;
  }
  const std::uint64_t operand = operand_address(instruction, context, address + instruction.length);
  return fault - operand < max_store_bytes ? operand : 0;
}

bool run_detour(const Instruction& instruction, std::uint64_t address, char* operand,
                ucontext_t& context, Detour kind) {
  Copy* const copy = copy_of(instruction, address, kind);
  if (copy == nullptr) return false;
  greg_t* const program = context.uc_mcontext.gregs;
  Registers registers{};
  memcpy(registers.general, program, sizeof registers.general);
  registers.vectors = context.uc_mcontext.fpregs;
  memcpy(&registers.features, reinterpret_cast<const char*>(registers.vectors) + 472,
         sizeof registers.features);
  // x87, SSE, AVX and AVX-512.
  registers.features &= 0xE7;
  const int scratch = greg_of[address_register(instruction)];
  registers.general[scratch] = reinterpret_cast<std::int64_t>(operand);
  registers.general[REG_EFL] = (program[REG_EFL] & arithmetic_flags) | fixed_flags;
  copy->code(&registers);
  registers.general[scratch] = program[scratch];
  registers.general[REG_RSP] = program[REG_RSP];
  registers.general[REG_EFL] = (program[REG_EFL] & ~std::int64_t{arithmetic_flags}) |
                               (registers.general[REG_EFL] & arithmetic_flags);
  registers.general[REG_RIP] = static_cast<std::int64_t>(address + instruction.length);
  memcpy(program, registers.general, sizeof(greg_t) * (REG_EFL + 1));
  return true;
}

}  // namespace nearfar::crash
