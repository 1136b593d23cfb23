// Records every store into the pool. A store to a protected page faults; its page is opened, the
// instruction runs alone (trap flag), its changes are recorded and the page is closed again.
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>

#include "crash/bare.hpp"
#include "crash/detour.hpp"
#include "crash/instruction.hpp"
#include "crash/recorder.hpp"
#include "crash/schedule.hpp"
#include "crash/signals.hpp"

namespace nearfar::crash {

namespace {

// Intel SDM volume 1, 3.4.3.3: EFLAGS.TF, bit 8.
constexpr greg_t trap_flag = 0x100;

// A store may straddle two pages.
constexpr unsigned max_open_pages = 2;
struct OpenStore {
  Stack stack;
  char* address;  // first byte that it stores to
  char* open[max_open_pages];
  unsigned count;
  StoreKind kind;
  unsigned stream;  // bytes that the store writes past the caches
  char loaded[8];   // value before an unlocked load, change and store
  unsigned loaded_bytes;
};
__attribute__((tls_model("initial-exec"))) thread_local OpenStore open_store;
std::uint64_t first_thread = 0;

void protect(char* page, int protection) {
  syscall(SYS_mprotect, page, std::size_t{NF_CRASH_PAGE}, protection);
}

// After max_steps, only code addresses with fewer stores than this are still single-stepped: new
// code shows more than the millionth repetition.
constexpr std::uint32_t always_stepped = 100;
// Code addresses with equal hashes share a counter.
constexpr unsigned max_counters = 1u << 16;
std::uint32_t store_counts[max_counters];

bool is_to_single_step(std::uint64_t address) {
  std::uint32_t& times = store_counts[(address * 0x9e3779b97f4a7c15ULL) >> 48];
  const bool is_new = times < always_stepped;
  times += is_new ? 1 : 0;
  return is_new || header()->steps < header()->max_steps;
}

char* page_of(void* address) {
  return reinterpret_cast<char*>(reinterpret_cast<std::uint64_t>(address) &
                                 ~std::uint64_t{NF_CRASH_PAGE - 1});
}

// A string instruction with a repeat prefix traps after every element, thousands of times per page.
bool repeats(const Instruction& instruction) {
  const unsigned opcode = instruction.opcode;
  return instruction.map == 0 && instruction.repeat &&
         (opcode == 0xA4 || opcode == 0xA5 || opcode == 0xAA || opcode == 0xAB);
}

// cmpxchg16b is the only store of more than 8 bytes that is atomic for other processors, and so for
// write-backs of its line.
bool is_double_swap(const Instruction& instruction) {
  return instruction.map == 1 && instruction.opcode == 0xC7 && instruction.reg() == 1 &&
         instruction.wide;
}

unsigned close_pages() {
  unsigned changed_lines = 0;
  for (unsigned i = 0; i < open_store.count; ++i) {
    const Mapping* mapping = mapping_of(open_store.open[i]);
    if (mapping == nullptr) continue;
    protect(open_store.open[i], PROT_READ);
    changed_lines +=
        record_changes(*mapping, open_store.open[i], open_store.open[i] + NF_CRASH_PAGE,
                       open_store.stack, open_store.kind);
  }
  open_store.count = 0;
  return changed_lines;
}

void count_threads() {
  const auto self = static_cast<std::uint64_t>(syscall(SYS_gettid));
  if (first_thread == 0) first_thread = self;
  if (first_thread == self) return;
  header()->threads = 1;
  // A thread that clone started directly, for example.
  if (!scheduled() && header()->unscheduled_threads == 0) count_unscheduled();
}

bool is_store_to_pool(const siginfo_t* info) {
  Lock const lock;
  return recording() && mapping_of(info->si_addr) != nullptr && info->si_code == SEGV_ACCERR;
}

void finish_store(unsigned changed_lines) {
  const Mapping* mapping = mapping_of(open_store.address);
  if (mapping == nullptr) return;
  const std::uint64_t offset = mapping->offset + (open_store.address - mapping->begin);
  // A store that changes nothing still justifies flushes and snapshots of its line.
  if (changed_lines == 0) append(NF_CRASH_TOUCH, offset, 0, &open_store.stack, nullptr, 0);
  if (open_store.stream != 0)
    append(NF_CRASH_STREAM, offset, open_store.stream, &open_store.stack, nullptr, 0);
}

void after_store(ucontext_t* context) {
  if (open_store.stream != 0) {
    expect_fence(context);
  } else {
    on_expecting_step(context);
  }
}

// Runs the store out of line and records it; false if that is impossible.
bool detour(const Instruction& instruction, std::uint64_t address, ucontext_t& context) {
  const std::uint64_t operand = detour_operand(
      instruction, address, reinterpret_cast<std::uint64_t>(open_store.address), context);
  if (operand == 0) return false;
  char* const begin = reinterpret_cast<char*>(operand);
  char* const writable = writable_at(begin, max_store_bytes);
  if (writable == nullptr) return false;
  memcpy(writable, open_store.loaded, open_store.loaded_bytes);
  if (!run_detour(instruction, address, writable, context)) return false;
  header()->steps += 1;
  open_store.address = begin;
  char* const first = begin - operand % NF_CRASH_LINE;
  const std::uint64_t last = (operand + max_store_bytes - 1) / NF_CRASH_LINE * NF_CRASH_LINE;
  char* const end = reinterpret_cast<char*>(last + NF_CRASH_LINE);
  finish_store(record_changes(*mapping_of(begin), first, end, open_store.stack, open_store.kind));
  return true;
}

// Bytes that are stored before another thread may get the turn.
struct Extent {
  const char* begin = nullptr;
  std::size_t bytes = 0;
};

// Returns the bytes that a store that faulted at `stored` may change. An unlocked instruction that
// loads, changes and stores is not atomic: another thread may store between its load, which is
// noted here, and its store.
Extent load_operand(char* stored, ucontext_t* context) {
  Lock const lock;
  open_store.loaded_bytes = 0;
  if (!recording() || mapping_of(stored) == nullptr) return {};
  const auto address = static_cast<std::uint64_t>(context->uc_mcontext.gregs[REG_RIP]);
  const Instruction instruction = instruction_at(address);
  // The page stays open.
  if (repeats(instruction) || header()->steps >= header()->max_steps)
    return {page_of(stored), NF_CRASH_PAGE};
  const auto fault = reinterpret_cast<std::uint64_t>(stored);
  const std::uint64_t operand = detour_operand(instruction, address, fault, *context);
  const Extent extent{operand == 0 ? stored : reinterpret_cast<char*>(operand),
                      stored_bytes(instruction)};
  const unsigned bytes = modified_bytes(instruction);
  if (bytes == 0 || operand == 0 || writable_at(extent.begin, max_store_bytes) == nullptr)
    return extent;
  memcpy(open_store.loaded, extent.begin, bytes);
  open_store.loaded_bytes = bytes;
  return extent;
}

// Notes the first byte of the store; a store that straddles two pages comes here twice.
void begin_store(const Instruction& instruction, std::uint64_t address, char* stored,
                 const greg_t* registers) {
  open_store.stack = stack_at(address, static_cast<std::uint64_t>(registers[REG_RSP]),
                              static_cast<std::uint64_t>(registers[REG_RBP]));
  open_store.address = stored;
  open_store.kind = {is_double_swap(instruction), is_locked(instruction)};
  open_store.stream = inside_libpmem() ? 0 : stream_bytes(instruction);
  if (open_store.kind.is_locked && has_unfenced_flush()) {
    append(NF_CRASH_FENCE, 0, 0, &open_store.stack, nullptr, 0);
  }
}

// Returns whether the store is done; if not, its page is open now. The caller holds the lock.
bool record_store(char* stored, ucontext_t* context) {
  greg_t* const registers = context->uc_mcontext.gregs;
  const auto address = static_cast<std::uint64_t>(registers[REG_RIP]);
  count_threads();
  record_pending();
  note_code(address);
  const Instruction instruction = instruction_at(address);
  if (open_store.count == 0) begin_store(instruction, address, stored, registers);
  const bool repeated = repeats(instruction);
  if (repeated || (open_store.stream == 0 && !is_to_single_step(address))) {
    if (!repeated) header()->coarse = 1;
    open_until_next_event(page_of(stored), open_store.stack, open_store.kind);
    return false;
  }
  if (open_store.count == max_open_pages) close_pages();
  if (open_store.count == 0 && detour(instruction, address, *context)) return true;
  open_store.open[open_store.count++] = page_of(stored);
  protect(page_of(stored), PROT_READ | PROT_WRITE);
  header()->steps += 1;
  registers[REG_EFL] |= trap_flag;
  return false;
}

bool on_fault(siginfo_t* info, ucontext_t* context) {
  if (!is_store_to_pool(info)) return false;
  // Threads are not switched in the middle of a store that straddles two pages.
  if (open_store.count == 0) {
    if (scheduled()) {
      const Extent extent = load_operand(static_cast<char*>(info->si_addr), context);
      may_switch(step_at(NF_CRASH_STEP_STORE, extent.begin, extent.bytes));
    }
  }
  bool done = false;
  {
    Lock const lock;
    if (!recording() || mapping_of(info->si_addr) == nullptr) return true;
    done = record_store(static_cast<char*>(info->si_addr), context);
  }
  if (done) after_store(context);
  return true;
}

bool on_step(ucontext_t* context) {
  if (open_store.count == 0) return on_expecting_step(context);
  {
    Lock const lock;
    finish_store(close_pages());
  }
  context->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
  after_store(context);
  return true;
}

bool on_trap(const siginfo_t* info, ucontext_t* context) {
  if (info->si_code == SI_KERNEL) return on_breakpoint(context);
  if (on_step(context)) return true;
  if (info->si_code != TRAP_TRACE && info->si_code != TRAP_BRKPT) return false;
  // The trap flag was set in a thread, or in saved flags, while a fence was expected.
  context->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
  return true;
}

void fault_handler(int number, siginfo_t* info, void* context) {
  if (!on_fault(info, static_cast<ucontext_t*>(context)))
    call_program_handler(number, info, context);
}

void trap_handler(int number, siginfo_t* info, void* context) {
  if (!on_trap(info, static_cast<ucontext_t*>(context))) {
    call_program_handler(number, info, context);
  }
}

}  // namespace

void install_fault_handlers() {
  first_thread = 0;
  install_handler(SIGSEGV, fault_handler);
  install_handler(SIGTRAP, trap_handler);
}

}  // namespace nearfar::crash
