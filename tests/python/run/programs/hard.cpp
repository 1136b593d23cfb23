// What an allocator below a C++ program meets: every form of new and delete, destructors of
// thread-local objects that allocate and free, keys of threads, blocks that grow from bytes to
// megabytes and back, libraries that come and go, children that never say goodbye. Ends with 0 if
// all its data was right.
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

extern char** environ;
extern "C" char* early_block();

namespace {

constexpr std::size_t mebibytes = 4;

[[noreturn]] void wrong(const char* what) {
  std::fprintf(stderr, "wrong: %s\n", what);
  std::_Exit(1);
}

struct alignas(256) Wide {
  char data[512];
};

struct Late {
  std::vector<std::string>* words = new std::vector<std::string>(100, std::string(90, 'w'));
  ~Late() {
    // A thread's last allocations, after its caches may be gone.
    auto more = std::make_unique<std::string>(5000, 'm');
    if (more->back() != 'm' || words->back().back() != 'w') wrong("late");
    delete words;
  }
};
thread_local Late late;
pthread_key_t key;

void at_key(void* block) {
  std::free(block);
  std::free(std::malloc(3000));
}

void in_thread(unsigned number) {
  if (late.words->size() != 100) wrong("thread-local");
  pthread_setspecific(key, std::malloc(100));
  std::map<unsigned, std::string> words;
  for (unsigned i = 0; i < 3000; ++i)
    words[i * 7919 % 3001] = std::string(i % 300, char('a' + number));
  for (auto& [i, word] : words) {
    if (!word.empty() && word.back() != char('a' + number)) wrong("map");
  }
}

// More than this machine could ever have, if the kernel refuses such requests; else 0.
std::size_t impossible() {
  char mode = '1';
  std::ifstream("/proc/sys/vm/overcommit_memory") >> mode;
  struct sysinfo machine {};
  sysinfo(&machine);
  const std::size_t all = (machine.totalram + machine.totalswap) * machine.mem_unit;
  return mode == '0' && all < std::size_t{1} << 38 ? 2 * all : 0;
}

}  // namespace

__attribute__((noinline)) Wide* make_wide() {
  auto* wide = new Wide[(mebibytes << 20) / sizeof(Wide)];
  if (reinterpret_cast<std::uintptr_t>(wide) % 256 != 0) wrong("aligned new");
  std::memset(static_cast<void*>(wide), 9, mebibytes << 20);
  return wide;
}

__attribute__((noinline)) std::vector<std::unique_ptr<std::string>> make_strings() {
  std::vector<std::unique_ptr<std::string>> strings;
  for (std::size_t size = 0; size < (mebibytes << 20); size += 100) {
    strings.push_back(std::make_unique<std::string>(70, 's'));
  }
  return strings;
}

__attribute__((noinline)) char* make_huge() {
  char* block = nullptr;
  std::size_t filled = 0;
  for (std::size_t size = 10; size < 12u << 20; size += size / 2) {
    block = static_cast<char*>(std::realloc(block, size));
    if (filled != 0 && block[filled - 1] != 4) wrong("growing");
    std::memset(block + filled, 4, size - filled);
    filled = size;
  }
  block = static_cast<char*>(std::realloc(block, mebibytes << 20));
  if (block[(mebibytes << 20) - 1] != 4) wrong("shrinking");
  const std::size_t beyond = impossible();
  if (beyond != 0 && std::realloc(block, beyond) != nullptr) wrong("the impossible, far");
  if (block[(mebibytes << 20) - 1] != 4) wrong("what could not grow");
  return block;
}

int main(int, char** argv) {
  pthread_key_create(&key, at_key);
  if (early_block()[100] != 3) wrong("early");
  Wide* wide = make_wide();
  auto strings = make_strings();
  char* huge = make_huge();

  const std::size_t beyond = impossible();
  // Read again, because a compiler may remove an allocation whose block is not used.
  void* volatile block = std::malloc(beyond);
  if (beyond != 0 && block != nullptr) wrong("the impossible");
  auto* quiet = new (std::nothrow) char[3000];
  ::operator delete(::operator new(2000), std::size_t{2000});
  ::operator delete(::operator new(64, std::align_val_t{64}), std::align_val_t{64});
  delete[] quiet;

  for (unsigned round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 8; ++i) threads.emplace_back(in_thread, i);
    for (auto& thread : threads) thread.join();
  }

  // In turns: each has the addresses that the one before it had.
  for (int round = 0; round < 4; ++round) {
    void* library = dlopen(argv[1 + round % 2], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) wrong(dlerror());
    using Block = char* (*)();
    char* block = reinterpret_cast<Block>(dlsym(library, "early_block"))();
    dlclose(library);
    if (block[(4u << 20) - 1] != 3) wrong("closed library");
    std::free(block);
  }

  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      huge[0] = 1;
      if (wide[5].data[5] != 9) _exit(2);
      if (i % 10 == 0 && make_huge()[1000] != 4) _exit(3);
      _exit(0);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) wrong("child");
    if (huge[0] != 4) wrong("the child's writes");
  }
  pid_t spawned = 0;
  char program[] = "/bin/true";
  char* words[] = {program, nullptr};
  int status = 1;
  if (posix_spawn(&spawned, program, nullptr, nullptr, words, environ) != 0 ||
      waitpid(spawned, &status, 0) != spawned || status != 0) {
    wrong("spawned");
  }

  for (auto& word : strings) {
    if (word->size() != 70 || word->back() != 's') wrong("strings");
  }
  usleep(100'000);  // a look at it all
  delete[] wide;
  std::free(huge);
  return 0;
}
