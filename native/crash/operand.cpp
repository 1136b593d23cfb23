#include "crash/operand.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace nearfar::crash {

namespace {

std::uint64_t value_of(const ucontext_t& context, unsigned number) {
  if (number == Instruction::none) return 0;
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[greg_of[number]]);
}

std::uint64_t segment_base(unsigned prefix) {
  // asm/prctl.h: ARCH_GET_FS, ARCH_GET_GS.
  unsigned long base = 0;
  if (prefix != 0) syscall(SYS_arch_prctl, prefix == 0x64 ? 0x1003 : 0x1004, &base);
  return base;
}

}  // namespace

std::uint64_t operand_address(const Instruction& instruction, const ucontext_t& context,
                              std::uint64_t next) {
  const std::uint64_t address = value_of(context, instruction.base) +
                                (value_of(context, instruction.index) << instruction.scale) +
                                static_cast<std::uint64_t>(std::int64_t{instruction.displacement}) +
                                segment_base(instruction.segment);
  return instruction.from_next ? address + next : address;
}

}  // namespace nearfar::crash
