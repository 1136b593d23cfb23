#include "crash/bare.hpp"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "crash/operand.hpp"

// Part of libgcc: finds the unwind table's entry of an instruction, and the start of its function.
extern "C" {
struct dwarf_eh_bases {
  void* text;
  void* data;
  void* function;
};
const void* _Unwind_Find_FDE(void* address, dwarf_eh_bases* bases);
}

namespace nearfar::crash {

void record_modules();

namespace {

struct Breakpoint {
  std::uint64_t address;
  unsigned char original;
};
// A program and its libraries have some dozens of breakpoints. The table is reserved address space;
// only used entries take memory.
constexpr unsigned max_breakpoints = 1u << 16;
Breakpoint breakpoints[max_breakpoints];
unsigned breakpoint_count = 0;

struct Code {
  std::uint64_t begin;
  std::uint64_t end;
};
constexpr unsigned max_files = 1024;
Code files[max_files];
unsigned file_count = 0;
bool loaded_late = false;

// After a flush, so many instructions are stepped in search of a locked instruction. A correct
// program fences at once.
constexpr unsigned max_steps = 64;
constexpr greg_t trap_flag = 0x100;
__attribute__((tls_model("initial-exec"))) thread_local unsigned steps_left = 0;
// A hook chooses the next thread, which takes some thousands of instructions.
constexpr unsigned max_hook_steps = 4096;
__attribute__((tls_model("initial-exec"))) thread_local unsigned hook_steps_left = 0;
Code own_code{};

void cannot_see(unsigned why) { header()->unseen |= why; }

bool is_known(std::uint64_t address) {
  for (unsigned i = 0; i < file_count; ++i) {
    if (address >= files[i].begin && address < files[i].end) return true;
  }
  return false;
}

Code extent_of(const dl_phdr_info& info) {
  Code code{UINT64_MAX, 0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    code.begin = std::min(code.begin, begin);
    code.end = std::max(code.end, begin + segment.p_memsz);
  }
  return code;
}

// Ranges without breakpoints: the recorder itself, and libpmem, whose functions are hooked as a
// whole.
bool is_hooked(const Code& file, const char* name) {
  const auto own = reinterpret_cast<std::uint64_t>(&watch_code);
  if (own >= file.begin && own < file.end) {
    own_code = file;
    return true;
  }
  const char* const slash = strrchr(name, '/');
  return strncmp(slash == nullptr ? name : slash + 1, "libpmem.so", 10) == 0;
}

void place(std::uint64_t address) {
  if (breakpoint_count == max_breakpoints) {
    cannot_see(NF_CRASH_UNSEEN_CODE);
    return;
  }
  auto* const page = reinterpret_cast<char*>(address & ~std::uint64_t{NF_CRASH_PAGE - 1});
  auto* const code = reinterpret_cast<unsigned char*>(address);
  if (syscall(SYS_mprotect, page, NF_CRASH_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    cannot_see(NF_CRASH_UNSEEN_CODE);
    return;
  }
  Breakpoint* const last = breakpoints + breakpoint_count++;
  Breakpoint* const at = std::lower_bound(
      breakpoints, last, address,
      [](const Breakpoint& known, std::uint64_t wanted) { return known.address < wanted; });
  std::copy_backward(at, last, last + 1);
  *at = {address, *code};
  constexpr unsigned char int3 = 0xCC;
  __atomic_store_n(code, int3, __ATOMIC_SEQ_CST);
  syscall(SYS_mprotect, page, NF_CRASH_PAGE, PROT_READ | PROT_EXEC);
}

const Breakpoint* breakpoint_at(std::uint64_t address) {
  const Breakpoint* const end = breakpoints + breakpoint_count;
  const Breakpoint* const at = std::lower_bound(
      static_cast<const Breakpoint*>(breakpoints), end, address,
      [](const Breakpoint& known, std::uint64_t wanted) { return known.address < wanted; });
  return at != end && at->address == address ? at : nullptr;
}

// Returns the instruction at `address`, without the recorder's breakpoints in it.
Instruction original_at(std::uint64_t address, std::uint64_t end) {
  unsigned char code[max_instruction_bytes];
  const std::size_t available = std::min<std::uint64_t>(sizeof code, end - address);
  memcpy(code, reinterpret_cast<const void*>(address), available);
  // Flushes may be adjacent, so the next one's first byte may be a breakpoint too.
  for (std::size_t i = 0; i < available; ++i) {
    if (code[i] != 0xCC) continue;
    const Breakpoint* const known = breakpoint_at(address + i);
    if (known != nullptr) code[i] = known->original;
  }
  return decode(code, available);
}

// Whether the bytes look like a flush or fence: 0F AE with /6 or /7.
bool is_candidate(const unsigned char* code) {
  if (code[0] != 0x0F || code[1] != 0xAE) return false;
  return code[2] < 0xC0 ? (code[2] >> 3 & 7) >= 6 : code[2] == 0xF0 || code[2] == 0xF8;
}

// Decodes instructions up to each candidate of a segment, in ascending order.
class Sweep {
 public:
  Sweep(std::uint64_t begin, std::uint64_t end) : at_(begin), end_(end) {}

  void visit(std::uint64_t candidate) {
    dwarf_eh_bases bases{};
    if (_Unwind_Find_FDE(reinterpret_cast<void*>(candidate), &bases) != nullptr) {
      const auto function = reinterpret_cast<std::uint64_t>(bases.function);
      if (function > at_ || lost_) {
        at_ = function;
        lost_ = false;
      }
    }
    while (!lost_ && at_ <= candidate) {
      const Instruction instruction = original_at(at_, end_);
      if (instruction.length == 0) {
        lost_ = true;
      } else if (at_ + instruction.length > candidate) {
        const bool ours = at_ + instruction.opcode_at == candidate;
        if (ours && bare_kind(instruction) != BareKind::none) place(at_);
        return;
      } else {
        at_ += instruction.length;
      }
    }
    if (lost_) cannot_see(NF_CRASH_UNSEEN_CODE);
  }

 private:
  std::uint64_t at_;
  std::uint64_t end_;
  bool lost_ = false;
};

void watch_segment(std::uint64_t begin, std::uint64_t end) {
  Sweep sweep(begin, end);
  const auto* at = reinterpret_cast<const unsigned char*>(begin);
  const auto* const last = reinterpret_cast<const unsigned char*>(end) - 2;
  while (at < last) {
    at = static_cast<const unsigned char*>(memchr(at, 0x0F, static_cast<std::size_t>(last - at)));
    if (at == nullptr) return;
    if (is_candidate(at)) sweep.visit(reinterpret_cast<std::uint64_t>(at));
    at += 1;
  }
}

bool in_pool(const void* address) {
  Lock const lock;
  return recording() && mapping_of(address) != nullptr;
}

// Returns whether the flush or fence concerns the pool.
bool record_bare(const Instruction& instruction, std::uint64_t address, const ucontext_t& context) {
  const BareKind kind = bare_kind(instruction);
  if (kind == BareKind::fence) {
    const bool matters = recording() && has_unfenced_store();
    if (matters) record_fence(stack_at(address));
    return matters;
  }
  const std::uint64_t operand = operand_address(instruction, context, address + instruction.length);
  const void* const line = reinterpret_cast<const void*>(operand / NF_CRASH_LINE * NF_CRASH_LINE);
  if (!in_pool(line)) return false;
  const Stack stack = stack_at(address);
  record_flush(line, 1, stack);
  if (kind == BareKind::clflush) record_line_fence(line, stack);
  return true;
}

}  // namespace

Instruction instruction_at(std::uint64_t address) {
  // The next page may be unmapped, so it is read only if the instruction reaches into it.
  const std::uint64_t page_end = (address / NF_CRASH_PAGE + 1) * NF_CRASH_PAGE;
  const Instruction here = original_at(address, page_end);
  if (here.length != 0 || page_end - address >= max_instruction_bytes) return here;
  return original_at(address, address + max_instruction_bytes);
}

void watch_code(const dl_phdr_info& info, const char* name) {
  const Code file = extent_of(info);
  if (file.begin >= file.end || is_known(file.begin)) return;
  if (file_count == max_files) {
    cannot_see(NF_CRASH_UNSEEN_CODE);
    return;
  }
  files[file_count++] = file;
  if (is_hooked(file, name)) return;
  const unsigned before = breakpoint_count;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if ((segment.p_flags & PF_R) == 0) {
      cannot_see(NF_CRASH_UNSEEN_CODE);
      continue;
    }
    const std::uint64_t begin = info.dlpi_addr + segment.p_vaddr;
    watch_segment(begin, begin + segment.p_filesz);
  }
  if (loaded_late && breakpoint_count != before) cannot_see(NF_CRASH_UNSEEN_LATE);
}

void note_late_loading() { loaded_late = true; }

void note_code(std::uint64_t address) {
  if (is_known(address)) return;
  record_modules();
  if (!is_known(address)) cannot_see(NF_CRASH_UNSEEN_MADE);
}

bool on_breakpoint(ucontext_t* context) {
  greg_t& rip = context->uc_mcontext.gregs[REG_RIP];
  const Breakpoint* const known = breakpoint_at(static_cast<std::uint64_t>(rip) - 1);
  if (known == nullptr) return false;
  const Instruction instruction = instruction_at(known->address);
  const std::uint64_t next = known->address + instruction.length;
  rip = static_cast<greg_t>(known->address);  // start of the stacks
  const bool recorded = record_bare(instruction, known->address, *context);
  rip = static_cast<greg_t>(next);
  const BareKind kind = bare_kind(instruction);
  if (kind == BareKind::fence) {
    steps_left = 0;
    context->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
  } else if (recorded && kind != BareKind::clflush) {
    expect_fence(context);
  }
  return true;
}

void expect_fence(ucontext_t* context) {
  steps_left = max_steps;
  hook_steps_left = max_hook_steps;
  context->uc_mcontext.gregs[REG_EFL] |= trap_flag;
  on_expecting_step(context);
}

bool on_expecting_step(ucontext_t* context) {
  if (steps_left == 0) return false;
  greg_t* const registers = context->uc_mcontext.gregs;
  const auto address = static_cast<std::uint64_t>(registers[REG_RIP]);
  if (own_code.begin <= address && address < own_code.end) {
    // The address is in a hook, which may hold the lock: the function that it calls counts instead.
    hook_steps_left -= 1;
    if (hook_steps_left == 0) steps_left = 0;
  } else {
    steps_left -= 1;
    if (is_locked(instruction_at(address))) {
      steps_left = 0;
      if (recording()) record_fence(stack_at(address));
    }
  }
  if (steps_left == 0) registers[REG_EFL] &= ~trap_flag;
  return true;
}

}  // namespace nearfar::crash
