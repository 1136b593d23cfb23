// A run-time library for tests of the pass: counts what each site reports, prints it at exit.
// Sampling is left as it is reported: a count is of sampled accesses, not multiplied.
// COUNTING_RUNTIME_INERT: registers modules as where nothing is traced.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "profile/abi.h"

namespace {

constexpr unsigned most_sites = 1 << 16;
std::vector<const nf_site*>& sites() {
  static std::vector<const nf_site*> all;
  return all;
}
unsigned long counts[most_sites];
unsigned rate_log2;

void print() {
  const char* path = std::getenv("COUNTING_RUNTIME_OUTPUT");
  std::FILE* file = path != nullptr ? std::fopen(path, "w") : nullptr;
  if (file == nullptr) return;
  for (std::size_t i = 0; i < sites().size(); ++i) {
    const nf_site& site = *sites()[i];
    std::string fields = site.fields;  // "struct item|96|key|8|8|1;..."
    std::replace(fields.begin(), fields.end(), '\t', '|');
    std::replace(fields.begin(), fields.end(), '\n', ';');
    std::fprintf(file, "%s\t%s\t%s\t%u\t%u\t%d\t%d\t%d\t%lu\n", site.function, site.file,
                 fields.c_str(), site.line, site.bytes, site.operation, site.access_class,
                 site.tests_per_line, counts[i]);
  }
  std::fclose(file);
}

}  // namespace

extern "C" {

__attribute__((used)) void count_access(const void* address, unsigned site, unsigned) {
  if (!nf_sampled(reinterpret_cast<unsigned long>(address), NF_FILTER_MASK(rate_log2))) {
    if (nf_whole(reinterpret_cast<unsigned long>(address))) return;
    std::fputs("an access outside the sampled lines and whole pages was reported\n", stderr);
    std::abort();
  }
  __atomic_fetch_add(&counts[(site - 1) % most_sites], 1, __ATOMIC_RELAXED);
}

void __nf_register(nf_module* module) {
  if (sites().empty()) std::atexit(print);
  if (std::getenv("COUNTING_RUNTIME_INERT") == nullptr)
    module->first_site = 1 + static_cast<unsigned>(sites().size());
  rate_log2 = module->rate_log2;
  for (unsigned i = 0; i < module->site_count; ++i) sites().push_back(module->sites + i);
}

void __nf_range(const void* address, size_t bytes, unsigned site, unsigned is_store) {
  const auto first = reinterpret_cast<unsigned long>(address);
  for (unsigned long line = first & ~63ul; line < first + bytes; line += 64)
    if (nf_sampled(line, NF_FILTER_MASK(rate_log2)))
      count_access(reinterpret_cast<const void*>(line < first ? first : line), site, is_store);
}

void __nf_register_variable(const void*, uint64_t, const char*) {}
const char* nearfar_tag_set(const char*) { return nullptr; }
void nearfar_phase_begin(const char*) {}
void nearfar_phase_end(const char*, double) {}
}

// preserve_most, for gcc.
__asm__(
    ".text\n.globl __nf_access\n.type __nf_access,@function\n__nf_access:\n"
    "push %rax\npush %rcx\npush %rdx\npush %rsi\npush %rdi\npush %r8\npush %r9\npush %r10\n"
    "sub $8,%rsp\ncall count_access@PLT\nadd $8,%rsp\n"
    "pop %r10\npop %r9\npop %r8\npop %rdi\npop %rsi\npop %rdx\npop %rcx\npop %rax\nret\n");
