/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A second plugin of QEMU's user-mode emulator, next to plugin.c: it records bursts, short
 * stretches of everything that a thread executes (bursts.h), for `nearfar profile --bursts`.
 *
 * Like plugin.c it is separate from nearfar, under the licence of QEMU's plugin interface.
 */
#include "profile/qemu/bursts.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "profile/qemu/plugin_api.h"
#include "profile/qemu/ring.h"

EXPORTED int qemu_plugin_version = 1;

/* Bursts with fewer accesses are dropped. */
#define MIN_ACCESSES 64u

static struct nf_bursts* file;
static const struct nf_ring* ring; /* shows the addresses of the preloaded library's code */
static const uint32_t* phase_word;
static const uint32_t* counting_word;
static bool silent; /* in the child of a fork */
static pthread_mutex_t tables = PTHREAD_MUTEX_INITIALIZER;
/* Instructions are stored once. Hash table: their indices + 1 by address, 0 for a free entry. */
static uint32_t indices_by_address[NF_BURST_CODE * 2];

/* Only one burst is recorded at a time: ID of its thread, 0 for none. */
static uint32_t recording;
static struct nf_burst* burst;
static uint32_t burst_phase;
static __thread uint32_t thread_number;

static uint32_t thread(void) {
  if (thread_number == 0) thread_number = (uint32_t)gettid();
  return thread_number;
}

static bool sampled_enough(void) { return ring != NULL && nf_ring_sampled_enough(ring); }

static uint32_t current_phase(void) {
  if (!__atomic_load_n(counting_word, __ATOMIC_RELAXED)) return 0;
  return __atomic_load_n(phase_word, __ATOMIC_RELAXED) % NF_BURST_PHASES;
}

/* Returns 0 if the value cannot be read: the page is unmapped, or guest addresses differ from
 * QEMU's. */
static uint64_t value_at(uint64_t address) {
  uint64_t value = 0;
  struct iovec here = {&value, sizeof value};
  struct iovec there = {(void*)(uintptr_t)address, sizeof value};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof value ? value : 0;
}

static void drop_every_second(struct nf_burst_phase* phase) {
  uint8_t order[NF_BURSTS_PER_PHASE];
  const uint32_t half = NF_BURSTS_PER_PHASE / 2;
  for (uint32_t i = 0; i < NF_BURSTS_PER_PHASE; ++i) {
    order[i] = phase->order[i < half ? 2 * i : 2 * (i - half) + 1];
  }
  memcpy(phase->order, order, sizeof order);
  phase->count = half;
  phase->interval *= 2;
}

/* Jitter: at equal distances, bursts would sample only some phases of a periodic loop. */
static uint64_t jittered(uint64_t interval, uint64_t at) {
  const uint64_t dice = (at * 0x9E3779B97F4A7C15ull) >> 48;
  return interval / 4 * 3 + interval / 2 * dice / 65536;
}

static void begin(uint32_t number, struct nf_burst_phase* phase) {
  uint32_t none = 0;
  if (!__atomic_compare_exchange_n(&recording, &none, UINT32_MAX, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED)) {
    return;
  }
  if (phase->base == 0) {
    if (file->traced == NF_BURST_TRACED) {
      phase->next = UINT64_MAX;
      __atomic_store_n(&recording, 0, __ATOMIC_RELEASE);
      return;
    }
    phase->base = 1 + file->traced++ * NF_BURSTS_PER_PHASE;
    phase->interval = NF_BURST_INTERVAL;
    for (uint8_t i = 0; i < NF_BURSTS_PER_PHASE; ++i) phase->order[i] = i;
  }
  if (phase->count == NF_BURSTS_PER_PHASE) drop_every_second(phase);
  burst = &file->bursts[phase->base - 1 + phase->order[phase->count]];
  burst->thread = thread();
  burst->block_count = burst->access_count = burst->closed = 0;
  burst->at = phase->instructions;
  burst_phase = number;
  phase->next = phase->instructions + jittered(phase->interval, phase->instructions);
  __atomic_store_n(&recording, thread(), __ATOMIC_RELEASE);
}

static void end(void) {
  if (burst->access_count >= MIN_ACCESSES) {
    burst->closed = 1;
    ++file->phases[burst_phase].count;
  }
  __atomic_store_n(&recording, 0, __ATOMIC_RELEASE);
}

static void on_block(unsigned cpu, void* data) {
  (void)cpu;
  if (silent) return;
  const uint32_t number = current_phase();
  struct nf_burst_phase* phase = &file->phases[number];
  const uint32_t index = (uint32_t)(uintptr_t)data;
  phase->instructions += file->blocks[index].count;
  if (__atomic_load_n(&recording, __ATOMIC_RELAXED) == thread()) {
    if (number != burst_phase || burst->block_count == NF_BURST_BLOCKS ||
        burst->access_count >= NF_BURST_ACCESSES || sampled_enough()) {
      end();
    } else {
      burst->blocks[burst->block_count++] = index;
      return;
    }
  }
  if (number != 0 && phase->instructions >= phase->next && !sampled_enough()) begin(number, phase);
}

/* `data` is the instruction's index in its block. */
static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void* data) {
  (void)cpu;
  if (__atomic_load_n(&recording, __ATOMIC_RELAXED) != thread() || silent) return;
  if (burst->block_count == 0 || burst->access_count == NF_BURST_ACCESSES) return;
  const uint32_t bytes = 1u << qemu_plugin_mem_size_shift(info);
  const uint16_t instruction = (uint16_t)(uintptr_t)data;
  const uint32_t block = burst->block_count - 1;
  const uint8_t store = qemu_plugin_mem_is_store(info);
  if (burst->access_count > 0) {
    /* QEMU splits wide accesses; this merges them again, except across lines. */
    struct nf_burst_access* last = &burst->accesses[burst->access_count - 1];
    if (last->block == block && last->instruction == instruction && last->store == store &&
        last->address + last->bytes == address && address % 64 != 0) {
      last->bytes = (uint8_t)(last->bytes + bytes);
      return;
    }
  }
  struct nf_burst_access* access = &burst->accesses[burst->access_count++];
  access->address = address;
  access->value = bytes == 8 && !store && file->has_values ? value_at(address) : 0;
  access->block = block;
  access->instruction = instruction;
  access->bytes = (uint8_t)bytes;
  access->store = store;
}

/* Returns the instruction's index and adds the instruction if it is new; UINT32_MAX if the table is
 * full. */
static uint32_t intern_instruction(const struct qemu_plugin_insn* instruction) {
  const uint64_t address = qemu_plugin_insn_vaddr(instruction);
  const size_t size = qemu_plugin_insn_size(instruction);
  uint64_t at = (address * 0x9E3779B97F4A7C15ull) >> 47;
  for (;; at = (at + 1) % (NF_BURST_CODE * 2)) {
    at %= NF_BURST_CODE * 2;
    if (indices_by_address[at] == 0) break;
    const struct nf_burst_instruction* known = &file->code[indices_by_address[at] - 1];
    if (known->address == address && known->size == size &&
        memcmp(known->bytes, qemu_plugin_insn_data(instruction), size) == 0) {
      return indices_by_address[at] - 1;
    }
  }
  if (file->code_used == NF_BURST_CODE || size > sizeof file->code[0].bytes) return UINT32_MAX;
  struct nf_burst_instruction* added = &file->code[file->code_used];
  added->address = address;
  added->size = (uint8_t)size;
  memcpy(added->bytes, qemu_plugin_insn_data(instruction), size);
  indices_by_address[at] = ++file->code_used;
  return file->code_used - 1;
}

/* Checks whether guest addresses are this process's own: the executed code must be at its address.
 */
static void check_addresses(const struct nf_burst_instruction* known) {
  uint8_t bytes[15];
  struct iovec here = {bytes, known->size};
  struct iovec there = {(void*)(uintptr_t)known->address, known->size};
  file->has_values = process_vm_readv(getpid(), &here, 1, &there, 1, 0) == known->size &&
                     memcmp(bytes, known->bytes, known->size) == 0;
}

/* Returns the block's index; UINT32_MAX if a table is full. A block's instructions must be
 * consecutive, so they are stored again if they are not. */
static uint32_t intern_block(const struct qemu_plugin_tb* block) {
  const size_t count = qemu_plugin_tb_n_insns(block);
  if (count == 0 || file->blocks_used == NF_BURST_CODE_BLOCKS) return UINT32_MAX;
  const struct qemu_plugin_insn* last = qemu_plugin_tb_get_insn(block, count - 1);
  uint32_t first = intern_instruction(qemu_plugin_tb_get_insn(block, 0));
  if (first == UINT32_MAX) return UINT32_MAX;
  if (file->blocks_used == 0) check_addresses(&file->code[first]);
  bool consecutive = true;
  for (size_t i = 1; i < count; ++i) {
    const uint32_t index = intern_instruction(qemu_plugin_tb_get_insn(block, i));
    if (index == UINT32_MAX) return UINT32_MAX;
    consecutive = consecutive && index == first + i;
  }
  if (!consecutive) {
    if (file->code_used + count > NF_BURST_CODE) return UINT32_MAX;
    const uint32_t copy_begin = file->code_used;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t index = intern_instruction(qemu_plugin_tb_get_insn(block, i));
      if (index == UINT32_MAX) return UINT32_MAX;
      file->code[file->code_used++] = file->code[index];
    }
    first = copy_begin;
  }
  struct nf_burst_block* added = &file->blocks[file->blocks_used];
  added->address = qemu_plugin_tb_vaddr(block);
  added->end = qemu_plugin_insn_vaddr(last) + qemu_plugin_insn_size(last);
  added->first = first;
  added->count = (uint32_t)count;
  return file->blocks_used++;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  const uint64_t address = qemu_plugin_tb_vaddr(block);
  if (ring != NULL && address >= ring->own_begin && address < ring->own_end) return;
  pthread_mutex_lock(&tables);
  const uint32_t index = silent ? UINT32_MAX : intern_block(block);
  if (index == UINT32_MAX && !silent) file->full = 1;
  pthread_mutex_unlock(&tables);
  if (index == UINT32_MAX) return;
  qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                       (void*)(uintptr_t)index);
  const size_t count = qemu_plugin_tb_n_insns(block);
  for (size_t i = 0; i < count; ++i) {
    qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(block, i), on_access,
                                     QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     (void*)(uintptr_t)i);
  }
}

static void on_thread_end(qemu_plugin_id_t id, unsigned cpu) {
  (void)id, (void)cpu;
  if (!silent && __atomic_load_n(&recording, __ATOMIC_RELAXED) == thread()) end();
}

static void in_child(void) { silent = true; }

static void* map_file(const char* folder, const char* name, size_t size, int access) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int handle = open(path, (access & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (handle < 0) return NULL;
  void* memory = mmap(NULL, size, access, MAP_SHARED, handle, 0);
  close(handle);
  return memory == MAP_FAILED ? NULL : memory;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int count, char** words) {
  (void)count, (void)words;
  const char* folder = getenv("NEARFAR_RUN_DIR");
  if (folder == NULL || info->system_emulation) return 1;
  file = map_file(folder, NF_BURSTS_FILE, sizeof *file, PROT_READ | PROT_WRITE);
  if (file == NULL || file->magic != NF_BURSTS_MAGIC) return 1;
  ring = map_file(folder, NF_RING_FILE, sizeof *ring, PROT_READ);
  const size_t words_end =
      (file->phase_offset > file->counting_offset ? file->phase_offset : file->counting_offset) +
      sizeof(uint32_t);
  const char* control = map_file(folder, "control", words_end, PROT_READ);
  if (control == NULL) return 1;
  phase_word = (const uint32_t*)(control + file->phase_offset);
  counting_word = (const uint32_t*)(control + file->counting_offset);
  pthread_atfork(NULL, NULL, in_child);
  qemu_plugin_register_vcpu_exit_cb(id, on_thread_end);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
