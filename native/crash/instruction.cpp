#include "crash/instruction.hpp"

#include <string.h>

namespace nearfar::crash {

namespace {

// Reads bytes one by one. Beyond the end it returns zeros and sets `ended`.
class Bytes {
 public:
  Bytes(const unsigned char* code, std::size_t available) : code_(code), available_(available) {}
  unsigned char peek() { return at < available_ ? code_[at] : 0; }
  unsigned char next() {
    const unsigned char byte = peek();
    at += 1;
    return byte;
  }
  std::int32_t number(unsigned bytes) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= std::uint32_t{next()} << 8 * i;
    return bytes == 1 ? static_cast<signed char>(value) : static_cast<std::int32_t>(value);
  }
  bool ended() const { return at > available_; }
  unsigned at = 0;

 private:
  const unsigned char* code_;
  std::size_t available_;
};

constexpr unsigned absent = 0x100;  // not an instruction in 64-bit mode
constexpr unsigned modrm_flag = 0x80;
constexpr unsigned immz = 0x40;  // 2 or 4 bytes; the low bits give the bytes of other immediates

// Returns whether a ModRM byte follows, and the number of bytes of immediates.
unsigned layout_of_one_byte(unsigned opcode) {
  if (opcode < 0x40) {
    const unsigned low = opcode & 7;
    return low < 4 ? modrm_flag : low == 4 ? 1 : low == 5 ? immz : absent;
  }
  switch (opcode) {
    case 0x60:
    case 0x61:
    case 0x82:
    case 0x9A:
    case 0xCE:
    case 0xD4:
    case 0xD5:
    case 0xD6:
    case 0xEA:
      return absent;
    case 0x68:
    case 0xA9:
      return immz;
    case 0x69:
    case 0x81:
    case 0xC7:
      return modrm_flag | immz;
    case 0x6A:
    case 0xA8:
    case 0xCD:
    case 0xEB:
      return 1;
    case 0x6B:
    case 0x80:
    case 0x83:
    case 0xC0:
    case 0xC1:
    case 0xC6:
      return modrm_flag | 1;
    case 0x63:
    case 0xD0:
    case 0xD1:
    case 0xD2:
    case 0xD3:
    case 0xF6:
    case 0xF7:
    case 0xFE:
    case 0xFF:
      return modrm_flag;
    case 0xC2:
    case 0xCA:
      return 2;
    case 0xC8:
      return 3;
    case 0xE8:
    case 0xE9:
      return 4;
    default:
      break;
  }
  if (opcode >= 0x70 && opcode < 0x80) return 1;
  if (opcode >= 0x84 && opcode < 0x90) return modrm_flag;
  if (opcode >= 0xB0 && opcode < 0xB8) return 1;
  if (opcode >= 0xD8 && opcode < 0xE0) return modrm_flag;
  if (opcode >= 0xE0 && opcode < 0xE8) return 1;
  return 0;
}

bool has_byte_in_0f(unsigned opcode) {
  return (opcode >= 0x70 && opcode < 0x74) || opcode == 0xC2 || (opcode >= 0xC4 && opcode < 0xC7);
}

unsigned layout_of_0f(unsigned opcode) {
  if (opcode >= 0x80 && opcode < 0x90) return 4;
  if (opcode >= 0xC8 && opcode < 0xD0) return 0;
  if (opcode >= 0x30 && opcode < 0x38) return 0;
  if (opcode >= 0x24 && opcode < 0x28) return absent;
  if (opcode >= 0x39 && opcode < 0x40) return absent;
  switch (opcode) {
    case 0x05:
    case 0x06:
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x0B:
    case 0x0E:
    case 0x77:
    case 0xA0:
    case 0xA1:
    case 0xA2:
    case 0xA8:
    case 0xA9:
    case 0xAA:
      return 0;
    case 0x04:
    case 0x0A:
    case 0x0C:
      return absent;
    case 0x0F:
    case 0xA4:
    case 0xAC:
    case 0xBA:
      return modrm_flag | 1;
    default:
      return modrm_flag | (has_byte_in_0f(opcode) ? 1 : 0);
  }
}

// The same for VEX, EVEX and XOP (8 to 10). Of their opcodes, only vzeroupper and vzeroall have no
// ModRM.
unsigned layout_of_vector(unsigned map, unsigned opcode) {
  switch (map) {
    case 1:
      return opcode == 0x77 ? 0 : modrm_flag | (has_byte_in_0f(opcode) ? 1 : 0);
    case 3:
    case 8:
      return modrm_flag | 1;
    case 2:
    case 5:
    case 6:
    case 9:
      return modrm_flag;
    case 10:
      return modrm_flag | 4;
    default:
      return absent;
  }
}

struct Rex {
  unsigned r = 0, x = 0, b = 0;
};

// Legacy prefixes and REX.
unsigned char read_prefixes(Bytes& bytes, Instruction& instruction, Rex& rex) {
  unsigned char byte = bytes.next();
  for (; bytes.at < max_instruction_bytes; byte = bytes.next()) {
    if (byte == 0xF0) {
      instruction.lock = true;
    } else if (byte == 0x66) {
      instruction.operand16 = true;
    } else if (byte == 0x67) {
      instruction.address32 = true;
    } else if (byte == 0xF2 || byte == 0xF3) {
      instruction.repeat = true;
    } else if (byte == 0x64 || byte == 0x65) {
      instruction.segment = byte;
    } else if (byte != 0x26 && byte != 0x2E && byte != 0x36 && byte != 0x3E) {
      break;
    }
  }
  // A REX prefix counts only directly before the opcode.
  if ((byte & 0xF0) == 0x40) {
    instruction.wide = (byte & 8) != 0;
    instruction.rex = true;
    rex = {(byte >> 2 & 1u) * 8, (byte >> 1 & 1u) * 8, (byte & 1u) * 8};
    byte = bytes.next();
  }
  return byte;
}

// Reads a VEX, XOP or EVEX prefix, whose first byte is `byte`. Returns the layout.
unsigned read_vector(Bytes& bytes, unsigned char byte, Instruction& instruction, Rex& rex) {
  static constexpr unsigned sizes[] = {16, 32, 64, 64};
  instruction.escape = byte;
  if (byte == 0xC5) {
    const unsigned char second = bytes.next();
    instruction.map = 1;
    instruction.vector_bytes = sizes[second >> 2 & 1];
    instruction.operand16 = (second & 3) == 1;
  } else {
    const unsigned char second = bytes.next();
    const unsigned char third = bytes.next();
    instruction.map = second & (byte == 0x62 ? 7 : 0x1F);
    rex.x = (second & 0x40) != 0 ? 0 : 8;
    rex.b = (second & 0x20) != 0 ? 0 : 8;
    instruction.wide = (third & 0x80) != 0;
    instruction.operand16 = (third & 3) == 1;
    instruction.vector_bytes = sizes[byte == 0x62 ? bytes.next() >> 5 & 3 : third >> 2 & 1];
  }
  instruction.opcode = bytes.next();
  return layout_of_vector(instruction.map, instruction.opcode);
}

void read_memory(Bytes& bytes, Instruction& instruction, const Rex& rex) {
  const unsigned mod = instruction.modrm >> 6;
  const unsigned rm = instruction.modrm & 7;
  if (mod == 3) return;
  bool no_base = mod == 0 && rm == 5;
  instruction.from_next = no_base;
  instruction.base = rm + rex.b;
  if (rm == 4) {
    const unsigned char sib = bytes.next();
    instruction.scale = sib >> 6;
    const unsigned index = (sib >> 3 & 7u) + rex.x;
    if (index != 4) instruction.index = index;
    instruction.base = (sib & 7u) + rex.b;
    no_base = mod == 0 && (sib & 7) == 5;
  }
  if (no_base) instruction.base = Instruction::none;
  if (mod == 1) instruction.displacement = bytes.number(1);
  if (mod == 2 || no_base) instruction.displacement = bytes.number(4);
}

unsigned immediate_bytes(const Instruction& instruction, unsigned layout) {
  const bool one_byte = instruction.map == 0 && instruction.vector_bytes == 0;
  const unsigned z = instruction.operand16 && !instruction.wide ? 2 : 4;
  unsigned bytes = (layout & 0x3F) + ((layout & immz) != 0 ? z : 0);
  if (!one_byte) return bytes;
  const unsigned opcode = instruction.opcode;
  // TEST is a form of F6 and F7.
  if (opcode == 0xF6 && instruction.reg() < 2) bytes = 1;
  if (opcode == 0xF7 && instruction.reg() < 2) bytes = z;
  if (opcode >= 0xB8 && opcode < 0xC0) bytes = instruction.wide ? 8 : z;
  return bytes;
}

}  // namespace

Instruction decode(const unsigned char* code, std::size_t available) {
  Instruction instruction;
  Bytes bytes(code, available < max_instruction_bytes ? available : max_instruction_bytes);
  Rex rex;
  unsigned char byte = read_prefixes(bytes, instruction, rex);
  instruction.opcode_at = bytes.at - 1;
  unsigned layout = 0;
  // XOP prefixes of some AMD processors share opcode 8F with POP.
  const bool xop = byte == 0x8F && (bytes.peek() & 0x1F) >= 8;
  if (byte == 0xC4 || byte == 0xC5 || byte == 0x62 || xop) {
    layout = read_vector(bytes, byte, instruction, rex);
  } else if (byte == 0x0F) {
    byte = bytes.next();
    instruction.map = byte == 0x38 ? 2 : byte == 0x3A ? 3 : 1;
    instruction.opcode = instruction.map == 1 ? byte : bytes.next();
    layout = instruction.map == 1   ? layout_of_0f(byte)
             : instruction.map == 2 ? modrm_flag
                                    : modrm_flag | 1;
  } else {
    instruction.opcode = byte;
    layout = layout_of_one_byte(byte);
  }
  if (layout == absent) return {};
  if ((layout & modrm_flag) != 0) {
    instruction.has_modrm = true;
    instruction.modrm_at = bytes.at;
    instruction.modrm = bytes.next();
    instruction.reg_high = rex.r;
    read_memory(bytes, instruction, rex);
  }
  instruction.operand_end = bytes.at;
  bytes.at += immediate_bytes(instruction, layout);
  const bool absolute = instruction.map == 0 && instruction.vector_bytes == 0 &&
                        instruction.opcode >= 0xA0 && instruction.opcode < 0xA4;
  if (absolute) bytes.at += instruction.address32 ? 4 : 8;
  if (bytes.ended()) return {};
  instruction.length = bytes.at;
  return instruction;
}

BareKind bare_kind(const Instruction& instruction) {
  if (instruction.length == 0 || instruction.map != 1 || instruction.opcode != 0xAE ||
      instruction.vector_bytes != 0 || instruction.repeat) {
    return BareKind::none;
  }
  const unsigned reg = instruction.reg();
  if (!instruction.has_memory()) {
    return reg >= 6 && !instruction.operand16 ? BareKind::fence : BareKind::none;
  }
  if (reg == 7) return instruction.operand16 ? BareKind::clflushopt : BareKind::clflush;
  return reg == 6 && instruction.operand16 ? BareKind::clwb : BareKind::none;
}

bool is_locked(const Instruction& instruction) {
  if (instruction.length == 0 || !instruction.has_memory()) return false;
  // XCHG with a memory operand is locked even without the prefix.
  const bool exchange = instruction.map == 0 && instruction.vector_bytes == 0 &&
                        (instruction.opcode == 0x86 || instruction.opcode == 0x87);
  return instruction.lock || exchange;
}

unsigned modified_bytes(const Instruction& instruction) {
  if (instruction.length == 0 || !instruction.has_memory() || is_locked(instruction) ||
      instruction.escape != 0) {
    return 0;
  }
  const unsigned opcode = instruction.opcode;
  const unsigned reg = instruction.reg();
  bool modifies = false;
  if (instruction.map == 0) {
    // Arithmetic except CMP, also with an immediate; shifts, NOT and NEG, INC and DEC.
    modifies = (opcode < 0x38 && (opcode & 6) == 0) || ((opcode & 0xFC) == 0x80 && reg != 7) ||
               (opcode & 0xFE) == 0xC0 || (opcode & 0xFC) == 0xD0 ||
               ((opcode & 0xFE) == 0xF6 && (reg == 2 || reg == 3)) ||
               ((opcode & 0xFE) == 0xFE && reg < 2);
  } else if (instruction.map == 1) {
    // CMPXCHG, XADD, shifts of two registers, instructions that change a numbered bit.
    modifies = (opcode & 0xFE) == 0xB0 || (opcode & 0xFE) == 0xC0 || (opcode & 0xF6) == 0xA4 ||
               (opcode == 0xBA && reg > 4);
  }
  if (!modifies) return 0;
  const bool byte = (opcode & 1) == 0 && opcode != 0xA4 && opcode != 0xAC && opcode != 0xBA;
  return byte ? 1 : instruction.wide ? 8 : instruction.operand16 ? 2 : 4;
}

unsigned stored_bytes(const Instruction& instruction) {
  if (const unsigned bytes = stream_bytes(instruction); bytes != 0) return bytes;
  if (instruction.vector_bytes != 0) return instruction.vector_bytes;
  const unsigned opcode = instruction.opcode;
  const unsigned by_prefix = instruction.wide ? 8 : instruction.operand16 ? 2 : 4;
  if (instruction.map == 0) {
    if (opcode >= 0xD8 && opcode < 0xE0) return 10;  // x87
    // The stack: PUSH, POP and CALL.
    if ((opcode >= 0x50 && opcode < 0x70) || opcode == 0x8F || opcode == 0xE8 ||
        (opcode == 0xFF && instruction.reg() > 1)) {
      return 8;
    }
    return (opcode & 1) == 0 && opcode != 0x8C ? 1 : by_prefix;
  }
  if (instruction.map != 1) return 8;
  if ((opcode & 0xF0) == 0x90) return 1;  // SETcc
  if (opcode == 0xC7) return instruction.wide ? 16 : 8;
  if ((opcode & 0xFE) == 0xB0 || (opcode & 0xFE) == 0xC0) return (opcode & 1) == 0 ? 1 : by_prefix;
  if (opcode >= 0xA0 && opcode < 0xC0) return by_prefix;
  // MOVSS and MOVSD, MOVLPS and MOVHPS, MOVD and MOVQ.
  const bool is_scalar =
      (opcode == 0x11 && instruction.repeat) || opcode == 0x13 || opcode == 0x17 || opcode == 0xD6;
  if (opcode == 0x7E) return instruction.wide ? 8 : 4;
  return is_scalar ? 8 : 16;
}

unsigned accessed_bytes(const Instruction& instruction) {
  constexpr unsigned sse_bytes = 16;
  // MOVQ from memory shares an opcode with MOVD, which stores.
  const bool is_movq = instruction.map == 1 && instruction.opcode == 0x7E && instruction.repeat;
  const bool is_long = (instruction.map >= 2 || is_movq) && instruction.vector_bytes == 0;
  return is_long ? sse_bytes : stored_bytes(instruction);
}

unsigned stream_bytes(const Instruction& instruction) {
  if (instruction.length == 0) return 0;
  const unsigned opcode = instruction.opcode;
  const bool vector = instruction.vector_bytes != 0;
  if (instruction.map == 1 && opcode == 0xC3 && !vector) return instruction.wide ? 8 : 4;
  if (instruction.map == 1 && opcode == 0x2B) {
    return vector ? instruction.vector_bytes : instruction.repeat ? 8 : 16;
  }
  if (instruction.map == 1 && opcode == 0xE7 && instruction.has_memory()) {
    return vector ? instruction.vector_bytes : instruction.operand16 ? 16 : 8;
  }
  // MASKMOVDQU and MASKMOVQ, MOVDIR64B, MOVDIRI.
  if (instruction.map == 1 && opcode == 0xF7) return instruction.operand16 || vector ? 16 : 8;
  if (instruction.map == 2 && opcode == 0xF8 && instruction.operand16 && !vector) return 64;
  if (instruction.map == 2 && opcode == 0xF9 && !vector) return instruction.wide ? 8 : 4;
  return 0;
}

}  // namespace nearfar::crash
