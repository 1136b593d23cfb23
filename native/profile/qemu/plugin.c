/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A plugin of QEMU's user-mode emulator that reports a program's accesses to sampled lines, and
 * memory that it maps by system calls of its own.
 *
 * It is separate from nearfar: QEMU loads it, and it writes to a shared file (ring.h) that another
 * process reads. QEMU's plugin interface is under GPL-2.0-or-later, and so is this file; no other
 * part of nearfar is linked into it, and it is linked into none.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/qemu/blocks.h"
#include "profile/qemu/plugin_api.h"
#include "profile/qemu/ring.h"
#include "profile/runtime/threads_alive.h"

EXPORTED int qemu_plugin_version = 1;

/* An instruction. It is never freed, because QEMU may translate it again. */
struct place {
  uint64_t instruction;
  uint64_t block;
};

static struct nf_ring* ring;
/* Counted blocks by address, in an open hash table; NULL: blocks are not counted. */
static struct nf_block* blocks;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
/* True in the child of a fork, which must not write into its parent's ring. */
static bool silent;
static __thread uint32_t thread_number;

static uint32_t thread(void) {
  if (thread_number == 0) thread_number = (uint32_t)gettid();
  return thread_number;
}

static void count_instructions(struct qemu_plugin_tb* block) {
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &ring->instructions,
                                           qemu_plugin_tb_n_insns(block));
}

static struct nf_block* block_at(uint64_t address) {
  const uint64_t first = (address * 0x9E3779B97F4A7C15ull) >> 48;
  for (uint64_t tries = 0; tries < NF_BLOCKS / 4; ++tries) {
    struct nf_block* block = &blocks[(first + tries) % NF_BLOCKS];
    if (block->address == address) return block;
    if (block->address == 0) {
      block->address = address;
      return block;
    }
  }
  return NULL;
}

static void count_executions(struct qemu_plugin_tb* translated_block) {
  if (blocks == NULL) return;
  const size_t last = qemu_plugin_tb_n_insns(translated_block) - 1;
  const struct qemu_plugin_insn* end = qemu_plugin_tb_get_insn(translated_block, last);
  const uint64_t address = qemu_plugin_tb_vaddr(translated_block);
  pthread_mutex_lock(&blocks_lock);
  struct nf_block* block = block_at(address);
  pthread_mutex_unlock(&blocks_lock);
  if (block == NULL) return;
  const uint64_t bytes = qemu_plugin_insn_vaddr(end) + qemu_plugin_insn_size(end) - address;
  if (bytes > block->bytes) block->bytes = bytes;
  qemu_plugin_register_vcpu_tb_exec_inline(translated_block, QEMU_PLUGIN_INLINE_ADD_U64,
                                           &block->count, 1);
}

static void report(uint64_t address, const struct place* place, qemu_plugin_meminfo_t info) {
  if (silent || !__atomic_load_n(&ring->open, __ATOMIC_RELAXED)) return;
  if (!__atomic_load_n(&ring->sampling, __ATOMIC_RELAXED)) return;
  if (nf_ring_sampled_enough(ring)) return;
  if (__atomic_load_n(&ring->muted[thread() % NF_RING_MUTES], __ATOMIC_RELAXED)) return;
  uint64_t number = 0;
  if (!nf_ring_take(ring, &number)) return;
  struct nf_ring_event* event = nf_ring_at(ring, number);
  event->kind = NF_RING_ACCESS;
  event->thread = thread();
  event->words[0] = address;
  event->words[1] = place->instruction;
  event->words[2] = place->block;
  event->words[3] = qemu_plugin_mem_is_store(info);
  event->words[4] = 1ull << qemu_plugin_mem_size_shift(info);
  nf_ring_publish(event, number);
}

static bool sampled(uint64_t address) {
  const uint64_t mixed = (((address >> 12) * ring->multiplier) >> ring->shift) ^ address;
  return (mixed & ring->mask) == 0 || (mixed & ring->page_mask) == 0;
}

static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void* place) {
  (void)cpu;
  if (__builtin_expect(sampled(address), 0)) report(address, place, info);
  /* The widest access has 16 bytes, so an access reaches the next line only at the end of a line.
   */
  if (__builtin_expect((address & 63) > 48, 0)) {
    const uint64_t last = address + (1ull << qemu_plugin_mem_size_shift(info)) - 1;
    if ((last ^ address) >> 6 != 0 && sampled(last)) report(last & ~63ull, place, info);
  }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  count_instructions(block);
  count_executions(block);
  /* Code translated before sampling ended keeps its calls: retranslating everything
   * (qemu_plugin_reset) sometimes kills programs under QEMU 7.2. */
  if (!__atomic_load_n(&ring->sampling, __ATOMIC_RELAXED)) return;
  const uint64_t begin = qemu_plugin_tb_vaddr(block);
  if (begin >= ring->own_begin && begin < ring->own_end) return;
  const size_t count = qemu_plugin_tb_n_insns(block);
  struct place* places = malloc(count * sizeof *places);
  if (places == NULL) return;
  for (size_t i = 0; i < count; ++i) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(block, i);
    places[i].instruction = qemu_plugin_insn_vaddr(instruction);
    places[i].block = begin;
    qemu_plugin_register_vcpu_mem_cb(instruction, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                     QEMU_PLUGIN_MEM_RW, &places[i]);
  }
}

/* Numbers of system calls on x86-64. */
enum { call_mmap = 9, call_mprotect = 10, call_munmap = 11, call_brk = 12, call_mremap = 25 };
enum { call_execve = 59, call_execveat = 322 };

static bool is_exec(int64_t number) { return number == call_execve || number == call_execveat; }

/* Arguments of this thread's current system call. */
static __thread uint64_t arguments[5];

static void send(enum nf_ring_kind kind, const uint64_t* words, unsigned count) {
  uint64_t number = 0;
  if (!nf_ring_take(ring, &number)) return;
  struct nf_ring_event* event = nf_ring_at(ring, number);
  event->kind = kind;
  event->thread = thread();
  memcpy(event->words, words, count * sizeof *words);
  event->words[NF_RING_TIME] = 0;
  nf_ring_publish(event, number);
}

static void send_mapped(uint64_t address, uint64_t bytes, bool accessible, uint64_t path) {
  const uint64_t words[] = {address, bytes, accessible, path, 1, ring->own_calls};
  send(NF_RING_MAPPED, words, sizeof words / sizeof *words);
}

/* The program's files are open in this process under the same numbers. */
static uint64_t path_of(int file) {
  char link[64];
  char path[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return nf_ring_text(ring, path);
}

static void on_break(uint64_t end) {
  static uint64_t before;
  const uint64_t begin = __atomic_exchange_n(&before, end, __ATOMIC_RELAXED);
  if (begin != 0 && end > begin) send_mapped(begin, end - begin, true, 0);
  if (end < begin) send(NF_RING_UNMAPPED, (const uint64_t[]){end, begin - end}, 2);
}

static void on_memory_call(int64_t number, uint64_t result) {
  const uint64_t* a = arguments;
  if (number == call_mmap) {
    const bool has_file = (a[3] & MAP_ANONYMOUS) == 0;
    send_mapped(result, a[1], a[2] != PROT_NONE, has_file ? path_of((int)a[4]) : 0);
  } else if (number == call_brk) {
    on_break(result);
  } else if (number == call_munmap) {
    send(NF_RING_UNMAPPED, a, 2);
  } else if (number == call_mremap) {
    send(NF_RING_MOVED, (const uint64_t[]){a[0], a[1], result, a[2]}, 4);
  } else if (number == call_mprotect && a[2] != PROT_NONE) {
    send(NF_RING_ACCESSIBLE, a, 2);
  }
}

static void on_call(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
                    uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
  (void)id, (void)cpu, (void)a6, (void)a7, (void)a8;
  if (silent) return;
  if (number == NF_RING_HELLO) __atomic_fetch_add(&ring->attached, 1, __ATOMIC_RELAXED);
  if (is_exec(number)) ring->replaced = 1;
  const uint64_t words[] = {a1, a2, a3, a4, a5};
  memcpy(arguments, words, sizeof words);
}

/* If exec returns, it has failed. */
static void on_return(qemu_plugin_id_t id, unsigned cpu, int64_t number, int64_t result) {
  (void)id, (void)cpu;
  if (silent) return;
  if (is_exec(number)) ring->replaced = 0;
  const bool failed = result < 0 && result > -4096;
  if (ring->own_calls != 0 && !failed) on_memory_call(number, (uint64_t)result);
}

static void on_thread(qemu_plugin_id_t id, unsigned cpu) {
  (void)id, (void)cpu;
  if (!silent) nf_thread_begins(&ring->threads_alive, &ring->threads);
}

static void on_thread_end(qemu_plugin_id_t id, unsigned cpu) {
  (void)id, (void)cpu;
  if (!silent) nf_thread_ends(&ring->threads_alive);
}

static void before_fork(void) {
  if (!silent) __atomic_fetch_add(&ring->forks, 1, __ATOMIC_RELAXED);
}

/* Translated code continues to count and test: on separate memory whose filter lets no access pass.
 */
static void in_child(void) {
  silent = true;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  if (mmap(ring, sizeof *ring, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) _exit(127);
  ring->mask = UINT64_MAX;
  ring->page_mask = UINT64_MAX;
  if (blocks == NULL) return;
  if (mmap(blocks, NF_BLOCKS * sizeof *blocks, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
    _exit(127);
}

/* Returns the shared memory of a file in the run folder; NULL if there is none. */
static void* shared_file(const char* folder, const char* name, size_t bytes) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return NULL;
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int count, char** words) {
  (void)count, (void)words;
  const char* folder = getenv("NEARFAR_RUN_DIR");
  if (folder == NULL || info->system_emulation) return 1;
  ring = shared_file(folder, NF_RING_FILE, sizeof *ring);
  if (ring == NULL || ring->magic != NF_RING_MAGIC) return 1;
  blocks = shared_file(folder, NF_BLOCKS_FILE, NF_BLOCKS * sizeof *blocks);
  pthread_atfork(before_fork, NULL, in_child);
  qemu_plugin_register_vcpu_init_cb(id, on_thread);
  qemu_plugin_register_vcpu_exit_cb(id, on_thread_end);
  qemu_plugin_register_vcpu_syscall_cb(id, on_call);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, on_return);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
