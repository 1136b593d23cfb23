/* Stores in many forms, each to a pool and to other memory: content, registers and flags must be
 * the same afterwards. Prints the forms that differ. */
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BYTES 4096
struct after {
  uint64_t general[8];
  uint64_t flags;
  unsigned char vector[16];
};

/* r8 is the memory, r9 and r10 other values, r11 an index. */
#define FORM(name, code)                                                                           \
  static void name(void* memory, struct after* after) {                                            \
    register uint64_t r8 __asm__("r8") = (uint64_t)memory + 128;                                   \
    register uint64_t r9 __asm__("r9") = 0x1122334455667788;                                       \
    register uint64_t r10 __asm__("r10") = 0x99aabbccddeeff00;                                     \
    register uint64_t r11 __asm__("r11") = 3;                                                      \
    uint64_t a = 0x0102030405060708, b = 5, c = 3, d = 0, s = 0x5555, t = 0x6666;                  \
    __asm__ volatile(                                                                              \
        "movq %%r9, %%xmm3\n\tpinsrq $1, %%r10, %%xmm3\n\t"                                        \
        "cmpq $1, %%r11\n\tstc\n\t" code "\n\tpushfq\n\tpopq %[flags]\n\tmovdqu %%xmm3, %[vector]" \
        : "+a"(a), "+b"(b), "+c"(c), "+d"(d), "+S"(s), "+D"(t), "+r"(r9),                          \
          "+r"(r10), [flags] "=m"(after->flags), [vector] "=m"(after->vector)                      \
        : "r"(r8), "r"(r11)                                                                        \
        : "memory", "cc", "xmm3", "xmm4");                                                         \
    const uint64_t general[] = {a, b, c, d, s, t, r9, r10};                                        \
    memcpy(after->general, general, sizeof general);                                               \
  }

#define FORMS(F)                                                                              \
  F(store_8, "movb %%al, 1(%%r8)")                                                            \
  F(store_high_byte, "movq %%r8, %%rsi\n\tmovb %%ah, (%%rsi)\n\tsubq %%r8, %%rsi")            \
  F(store_16, "movw %%r9w, 2(%%r8,%%r11,2)")                                                  \
  F(store_32, "movl %%esi, 4(%%r8)")                                                          \
  F(store_64, "movq %%rdi, 8(%%r8,%%r11,8)")                                                  \
  F(store_unaligned, "movq %%r10, -5(%%r8)")                                                  \
  F(store_number, "movq $-7, 16(%%r8)")                                                       \
  F(store_short_number, "movw $0x1234, 16(%%r8)")                                             \
  F(store_stack_pointer, "xorl %%eax, %%eax\n\tmovq %%rsp, 16(%%r8)\n\tmovq %%rax, 16(%%r8)") \
  F(add, "addq %%rax, (%%r8)")                                                                \
  F(add_with_carry, "adcl $3, (%%r8)")                                                        \
  F(subtract_locked, "lock subq %%rsi, (%%r8)")                                               \
  F(increment, "incw (%%r8)")                                                                 \
  F(negate, "negq (%%r8)")                                                                    \
  F(shift, "shlq %%cl, 8(%%r8)")                                                              \
  F(shift_two, "shldq %%cl, %%r9, 8(%%r8)")                                                   \
  F(rotate_carry, "rcrl $1, (%%r8)")                                                          \
  F(exchange, "xchgq %%rsi, (%%r8)")                                                          \
  F(exchange_add, "lock xaddq %%rdi, (%%r8)")                                                 \
  F(compare_exchange, "movq (%%r8), %%rax\n\tlock cmpxchgq %%r9, (%%r8)")                     \
  F(compare_exchange_fails, "lock cmpxchgq %%r9, (%%r8)")                                     \
  F(compare_exchange_16, "lock cmpxchg16b (%%r8)")                                            \
  F(set_bit, "lock btsl $5, (%%r8)")                                                          \
  F(set_bit_far, "btsq %%rsi, (%%r8)")                                                        \
  F(set_if, "setc 3(%%r8)")                                                                   \
  F(vector, "movdqu %%xmm3, 3(%%r8)")                                                         \
  F(vector_half, "movhps %%xmm3, (%%r8)")                                                     \
  F(vector_one, "pextrd $1, %%xmm3, 4(%%r8)")                                                 \
  F(vector_stream, "movntdq %%xmm3, (%%r8)\n\tsfence")                                        \
  F(stream, "movntiq %%rdi, (%%r8)\n\tsfence")                                                \
  F(floating, "fld1\n\tfstpl (%%r8)")                                                         \
  F(control, "stmxcsr (%%r8)")                                                                \
  F(string, "leaq (%%r8), %%rdi\n\tstosq\n\tsubq %%r8, %%rdi")                                \
  F(pop, "pushq %%r9\n\tpopq 24(%%r8)")                                                       \
  F(two_pages, "movq %%r9, 4096-132(%%r8)")                                                   \
  F(swapped_bytes, "bswap %%r9\n\tmovq %%r9, (%%r8)")

FORMS(FORM)

#define ROW(name, code) {#name, name},
static const struct {
  const char* name;
  void (*run)(void*, struct after*);
} forms[] = {FORMS(ROW)};

int main(int count, char** words) {
  if (count != 2) return 2;
  size_t bytes = 0;
  char* pool = pmem_map_file(words[1], 2 * BYTES, PMEM_FILE_CREATE, 0600, &bytes, NULL);
  if (pool == NULL) return 1;
  static char other[2 * BYTES] __attribute__((aligned(BYTES)));
  int wrong = 0;
  for (unsigned i = 0; i < sizeof forms / sizeof *forms; ++i) {
    /* Twice: the copy of the second is found. */
    for (int times = 0; times < 2; ++times) {
      struct after here, there;
      memset(&here, 0, sizeof here);
      memset(&there, 0, sizeof there);
      forms[i].run(other, &here);
      forms[i].run(pool, &there);
      if (memcmp(other, pool, 2 * BYTES) != 0 || memcmp(&here, &there, sizeof here) != 0) {
        printf("%s differs\n", forms[i].name);
        memcpy(pool, other, 2 * BYTES);
        wrong = 1;
      }
    }
  }
  pmem_persist(pool, 2 * BYTES);
  pmem_unmap(pool, bytes);
  return wrong;
}
