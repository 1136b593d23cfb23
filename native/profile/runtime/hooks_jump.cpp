// longjmp out of a signal handler. If the handler has interrupted a call inside the runtime, the
// jump leaves that call.
#include <setjmp.h>

#include <bit>
#include <cstdint>

#include "profile/runtime/hooks.hpp"
#include "profile/runtime/thread.hpp"

namespace {

// glibc stores the stack pointer as the seventh word, XORed with a secret of the process and
// rotated.
std::uint64_t stack_pointer_of(const __jmp_buf_tag* target) {
  std::uint64_t secret = 0;
  asm("mov %%fs:0x30, %0" : "=r"(secret));
  return std::rotr(static_cast<std::uint64_t>(target->__jmpbuf[6]), 17) ^ secret;
}

// A jump within the handler does not leave the interrupted call.
void leave_call(const __jmp_buf_tag* target) {
  nearfar::profile::need_real_functions();
  std::uintptr_t& inside = nearfar::profile::this_thread.inside;
  if (inside != 0 && nearfar::profile::has_left(inside, stack_pointer_of(target))) inside = 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void siglongjmp(sigjmp_buf target, int value) noexcept {
  leave_call(target);
  nearfar::profile::real.siglongjmp(target, value);
  __builtin_unreachable();
}

// The same function in glibc.
void longjmp(jmp_buf target, int value) noexcept { siglongjmp(target, value); }
void _longjmp(jmp_buf target, int value) noexcept { siglongjmp(target, value); }

// With _FORTIFY_SOURCE.
[[noreturn]] void __longjmp_chk(jmp_buf target, int value) noexcept {
  leave_call(target);
  nearfar::profile::real.__longjmp_chk(target, value);
  __builtin_unreachable();
}
}
#pragma GCC visibility pop
