// Lengths of instructions, next to those of objdump for a whole library.
#include "crash/instruction.hpp"

#include <doctest/doctest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>
#include <string>
#include <vector>

using namespace nearfar::crash;

namespace {

Instruction of(std::initializer_list<unsigned char> bytes) {
  const std::vector<unsigned char> code(bytes);
  return decode(code.data(), code.size());
}

// Bytes of a row of objdump: address, a tab, the bytes, a tab, the instruction.
std::vector<unsigned char> bytes_of(const char* row) {
  std::vector<unsigned char> bytes;
  const char* at = strchr(row, '\t');
  const char* const end = at == nullptr ? nullptr : strchr(at + 1, '\t');
  if (end == nullptr || row[0] != ' ' || strstr(end, "(bad)") != nullptr) return bytes;
  for (++at; at + 1 < end && *at != ' '; at += 3) {
    bytes.push_back(static_cast<unsigned char>(strtoul(at, nullptr, 16)));
  }
  return bytes;
}

struct Compared {
  long instructions = 0;
  long different = 0;
  std::string first;
};

Compared compare(const std::string& file) {
  Compared compared;
  const std::string command = "objdump -d -j .text --insn-width=15 " + file + " 2>/dev/null";
  FILE* const listing = popen(command.c_str(), "r");
  char row[4096];
  while (listing != nullptr && fgets(row, sizeof row, listing) != nullptr) {
    const std::vector<unsigned char> bytes = bytes_of(row);
    // objdump joins fwait with what follows, and shows some prefixes alone.
    if (bytes.size() < 2 || bytes[0] == 0x9B) continue;
    compared.instructions += 1;
    std::vector<unsigned char> padded = bytes;
    padded.resize(max_instruction_bytes);
    if (decode(padded.data(), padded.size()).length == bytes.size()) continue;
    compared.different += 1;
    if (compared.first.empty()) compared.first = row;
  }
  if (listing != nullptr) pclose(listing);
  return compared;
}

}  // namespace

TEST_CASE("instructions that load, change and store without a lock are known by their width") {
  CHECK(modified_bytes(of({0x48, 0x83, 0x00, 0x01})) == 8);        // addq $1, (%rax)
  CHECK(modified_bytes(of({0xF0, 0x48, 0x83, 0x00, 0x01})) == 0);  // lock addq
  CHECK(modified_bytes(of({0x48, 0x83, 0x38, 0x01})) == 0);        // cmpq
  CHECK(modified_bytes(of({0xFE, 0x00})) == 1);                    // incb
  CHECK(modified_bytes(of({0x66, 0x01, 0x08})) == 2);              // addw %cx, (%rax)
  CHECK(modified_bytes(of({0x0F, 0xC1, 0x08})) == 4);              // xaddl %ecx, (%rax)
  CHECK(modified_bytes(of({0x87, 0x08})) == 0);                    // xchgl is locked
  CHECK(modified_bytes(of({0x48, 0x89, 0x08})) == 0);              // movq
  CHECK(modified_bytes(of({0x48, 0x01, 0xC8})) == 0);              // addq %rcx, %rax
}

TEST_CASE("flushes, fences and streams are distinguished") {
  CHECK(bare_kind(of({0x66, 0x0F, 0xAE, 0x37})) == BareKind::clwb);
  CHECK(bare_kind(of({0x66, 0x41, 0x0F, 0xAE, 0x3C, 0x24})) == BareKind::clflushopt);
  CHECK(bare_kind(of({0x0F, 0xAE, 0x7F, 0x40})) == BareKind::clflush);
  CHECK(bare_kind(of({0x0F, 0xAE, 0xF8})) == BareKind::fence);
  CHECK(bare_kind(of({0x0F, 0xAE, 0xF0})) == BareKind::fence);
  CHECK(bare_kind(of({0x0F, 0xAE, 0xE8})) == BareKind::none);        // lfence
  CHECK(bare_kind(of({0x0F, 0xAE, 0x37})) == BareKind::none);        // xsaveopt
  CHECK(bare_kind(of({0xF3, 0x0F, 0xAE, 0xF0})) == BareKind::none);  // umonitor
  CHECK(stream_bytes(of({0x48, 0x0F, 0xC3, 0x07})) == 8);
  CHECK(stream_bytes(of({0x66, 0x0F, 0xE7, 0x07})) == 16);
  CHECK(stream_bytes(of({0xC5, 0xFD, 0xE7, 0x07})) == 32);
  CHECK(stream_bytes(of({0x62, 0xF1, 0x7D, 0x48, 0xE7, 0x07})) == 64);
  CHECK(stream_bytes(of({0x48, 0x89, 0x07})) == 0);
  CHECK(is_locked(of({0xF0, 0x48, 0x0F, 0xB1, 0x0F})));
  CHECK(is_locked(of({0x87, 0x07})));
  CHECK_FALSE(is_locked(of({0x87, 0xC7})));
}

TEST_CASE("the operand of a flush is known") {
  const Instruction flush = of({0x66, 0x43, 0x0F, 0xAE, 0xB4, 0xC8, 0x40, 0, 0, 0});
  CHECK(flush.length == 10);
  CHECK(flush.base == 8);
  CHECK(flush.index == 9);
  CHECK(flush.scale == 3);
  CHECK(flush.displacement == 64);
  const Instruction relative = of({0x66, 0x0F, 0xAE, 0x35, 0xF0, 0xFF, 0xFF, 0xFF});
  CHECK(relative.from_next);
  CHECK(relative.base == Instruction::none);
  CHECK(relative.displacement == -16);
}

TEST_CASE("truncated and absent instructions have no length") {
  CHECK(of({0x66, 0x0F, 0xAE}).length == 0);
  CHECK(of({0x06}).length == 0);
  CHECK(of({}).length == 0);
}

TEST_CASE("lengths are those of objdump") {
  const char* const wanted = getenv("NEARFAR_TEST_LISTING");
  const Compared compared = compare(wanted != nullptr ? wanted : "/lib/x86_64-linux-gnu/libm.so.6");
  if (compared.instructions == 0) {
    MESSAGE("not compared: objdump or the library is absent");
    return;
  }
  MESSAGE(compared.instructions << " instructions");
  CHECK_MESSAGE(compared.different == 0, compared.first);
}
