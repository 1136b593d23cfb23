// Instrumented modules and their instructions.
#include <string.h>

#include "profile/abi.h"
#include "profile/runtime/access.hpp"
#include "profile/runtime/memory_events.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

namespace {

// Description of a module. It is a copy, because dlclose may unmap the module's own memory. Ordered
// by first_site.
struct InstrumentedModule {
  const nf_site* sites;
  std::uint32_t first_site;
  std::uint32_t site_count;
};
// One module per translation unit; the largest known programs have some ten thousand.
constexpr std::uint32_t max_modules = 1u << 16;
// The first module contains the sites of library functions.
const nf_site sites_of_libraries[library_sites] = {
    {"malloc", "(C library)", 0, 0, 8, NF_STORE, NF_OPAQUE, 1, ""},
    {"calloc", "(C library)", 0, 0, 64, NF_STORE, NF_STREAM, 1, ""},
    {"realloc", "(C library)", 0, 0, 64, NF_LOAD, NF_STREAM, 1, ""},
    {"realloc", "(C library)", 0, 0, 64, NF_STORE, NF_STREAM, 1, ""},
    {"memcpy, memcmp ...", "(libraries not instrumented)", 0, 0, 64, NF_LOAD, NF_OPAQUE, 1, ""},
    {"memcpy, memcmp ...", "(libraries not instrumented)", 0, 0, 64, NF_LOAD, NF_STREAM, 1, ""},
    {"memcpy, memset ...", "(libraries not instrumented)", 0, 0, 64, NF_STORE, NF_OPAQUE, 1, ""},
    {"memcpy, memset ...", "(libraries not instrumented)", 0, 0, 64, NF_STORE, NF_STREAM, 1, ""},
};
InstrumentedModule modules[max_modules] = {{sites_of_libraries, 0, library_sites}};
std::uint32_t module_count = 1;
std::uint32_t next_site = library_sites;
std::uint32_t lock_word = 0;

const nf_site* site_with_id(std::uint32_t id) {
  std::uint32_t low = 0;
  std::uint32_t high = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (modules[middle].first_site <= id ? low : high) = middle;
  }
  if (low == high) return nullptr;
  const std::uint32_t index = id - modules[low].first_site;
  return index < modules[low].site_count ? &modules[low].sites[index] : nullptr;
}

}  // namespace

void record_instruction(std::uint32_t site) {
  const std::uint64_t key = std::uint64_t{site} + 1;
  const nf_site* known = site_with_id(site);
  if (known == nullptr || runtime.instructions.find(key) != nullptr) return;
  const std::uint32_t function = runtime.strings.intern(known->function);
  const std::uint32_t file = runtime.strings.intern(known->file);
  const std::uint32_t fields = runtime.strings.intern(known->fields);
  runtime.instructions.find_or_add(key, thread_id(), [&](InstructionRecord& record) {
    record.function = function;
    record.file = file;
    record.line = known->line;
    record.column = known->column;
    record.bytes = static_cast<std::uint16_t>(known->bytes);
    record.operation = known->operation;
    record.access_class = known->access_class;
    record.tests_per_line = known->tests_per_line;
    record.fields = fields;
  });
}

}  // namespace nearfar::profile

extern "C" void __nf_register(nf_module* module) {
  using namespace nearfar::profile;
  Guard const guard;
  if (module->abi_version == NF_ABI_VERSION && !active()) activate(module->rate_log2);
  if (!active()) return;
  map_modules();  // a module that was loaded late may allocate before its data is touched
  ProcessHeader& header = *runtime.header;
  Lock const lock(lock_word, thread_id());
  if (module->abi_version != NF_ABI_VERSION) {
    ++header.wrong_modules;
    return;
  }
  if (module->rate_log2 != runtime.lines.rate_log2()) {
    ++header.mixed_rates;
    return;
  }
  if (module_count == max_modules) {
    ++header.instructions.lost;
    return;
  }
  ++header.instrumented_modules;
  if (header.compiler == 0) header.compiler = runtime.strings.intern(module->compiler);
  module->first_site = next_site;
  modules[module_count] = {module->sites, next_site, module->site_count};
  next_site += module->site_count;
  __atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
}
