// Functions of the runtime library that unpack several accesses into calls of __nf_access (abi.h):
// spans, string functions, streams of loops.

#include <cstdint>

#include "abi.h"
#include "streams.hpp"

namespace {

using nearfar::profile::find_next;
using nearfar::profile::line_bytes;
using nearfar::profile::page_bytes;
using nearfar::profile::sampled_in_page;

constexpr std::uint64_t not_started = UINT64_MAX;

const void* pointer(std::uint64_t address) { return reinterpret_cast<const void*>(address); }

void begin(nf_loop& loop) {
  for (std::uint32_t i = 0; i < loop.count; ++i)
    find_next(loop.streams[i], loop.rate_log2, 0, true);
}

// Reports the sampled lines entered in iteration loop.iteration, and finds those streams' next
// events.
void report_event(nf_loop& loop) {
  for (std::uint32_t i = 0; i < loop.count; ++i) {
    nf_stream& stream = loop.streams[i];
    while (stream.next == loop.iteration) {
      const std::uint64_t at =
          stream.address + loop.iteration * static_cast<std::uint64_t>(stream.step);
      const std::uint64_t touched = at > stream.line ? at : stream.line;
      if (nf_sampled(stream.line, NF_FILTER_MASK(loop.rate_log2)) ||
          nf_whole(stream.line))  // false: the search was given up
        __nf_access(pointer(touched), stream.site, stream.is_store);
      find_next(stream, loop.rate_log2, loop.iteration, false);
    }
  }
}

}  // namespace

extern "C" {

__attribute__((used)) void nf_span_body(const void* address, std::uint32_t site,
                                        std::uint32_t shape) {
  const auto first = reinterpret_cast<std::uint64_t>(address);
  const std::uint64_t last = first + ((shape >> 1) & 0x7FFF) - 1;
  const std::uint64_t mask = NF_FILTER_MASK(shape >> 16);
  if (nf_sampled(first, mask) || nf_whole(first)) __nf_access(address, site, shape & 1);
  if ((first ^ last) / line_bytes != 0 && (nf_sampled(last, mask) || nf_whole(last)))
    __nf_access(pointer(last & ~(line_bytes - 1)), site, shape & 1);
}

__attribute__((used)) void nf_row_body(const void* address, std::uint64_t bytes, std::uint32_t site,
                                       std::uint32_t shape) {
  const auto first = reinterpret_cast<std::uint64_t>(address);
  const std::uint64_t end = first + bytes;
  const unsigned rate_log2 = shape >> 16;
  std::uint64_t line = first & ~(line_bytes - 1);
  while (line < end) {
    const std::uint64_t page_end = (line | (page_bytes - 1)) + 1;
    const std::uint64_t sampled_line = sampled_in_page(line, rate_log2);
    if (sampled_line < end && sampled_line < page_end) {
      __nf_access(pointer(sampled_line > first ? sampled_line : first), site, shape & 1);
      line = sampled_line + line_bytes;
    } else {
      if (nf_whole(line)) __nf_access(pointer(line > first ? line : first), site, shape & 1);
      line = page_end;
    }
  }
}

__attribute__((used)) std::uint64_t nf_loop_body(nf_loop* loop) {
  const std::uint64_t now = loop->iteration;
  if (now == not_started)
    begin(*loop);
  else
    report_event(*loop);
  std::uint64_t next = not_started;
  for (std::uint32_t i = 0; i < loop->count; ++i)
    if (loop->streams[i].next < next) next = loop->streams[i].next;
  loop->iteration = next;
  return now == not_started ? next : next - now;
}

__attribute__((visibility("default"))) void __nf_string(const void* first, const void* second,
                                                        size_t limit, int stop,
                                                        std::uint32_t site) {
  const auto* a = static_cast<const unsigned char*>(first);
  const auto* b = static_cast<const unsigned char*>(second);
  size_t read = 0;
  while (read < limit) {
    const unsigned char byte = a[read];
    const bool differ = b != nullptr && b[read] != byte;
    ++read;
    if (differ || (stop >= 0 && byte == stop)) break;
  }
  if (read == 0) return;
  __nf_range(a, read, site, 0);
  if (b != nullptr) __nf_range(b, read, site, 0);
}
}

// preserve_most, which g++ 12 cannot generate: it saves every general register except r11 (and the
// result).
__asm__(R"(
  .macro nf_keep_registers name, body, keep_rax
  .text
  .globl \name
  .type \name, @function
  .p2align 4
\name:
  .cfi_startproc
  push %rax
  .cfi_adjust_cfa_offset 8
  push %rcx
  .cfi_adjust_cfa_offset 8
  push %rdx
  .cfi_adjust_cfa_offset 8
  push %rsi
  .cfi_adjust_cfa_offset 8
  push %rdi
  .cfi_adjust_cfa_offset 8
  push %r8
  .cfi_adjust_cfa_offset 8
  push %r9
  .cfi_adjust_cfa_offset 8
  push %r10
  .cfi_adjust_cfa_offset 8
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call \body@PLT
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  pop %r10
  .cfi_adjust_cfa_offset -8
  pop %r9
  .cfi_adjust_cfa_offset -8
  pop %r8
  .cfi_adjust_cfa_offset -8
  pop %rdi
  .cfi_adjust_cfa_offset -8
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rdx
  .cfi_adjust_cfa_offset -8
  pop %rcx
  .cfi_adjust_cfa_offset -8
  .if \keep_rax
  pop %rax
  .else
  add $8, %rsp
  .endif
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size \name, .-\name
  .endm
  nf_keep_registers __nf_span, nf_span_body, 1
  nf_keep_registers __nf_row, nf_row_body, 1
  nf_keep_registers __nf_loop, nf_loop_body, 0
  .purgem nf_keep_registers
)");
