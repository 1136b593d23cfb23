// This test has its own libgcc and libstdc++, as programs of a wheel have.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <link.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/static_unwinder.hpp"

using nearfar::find_object_by_headers;
using nearfar::LoadedObject;
using nearfar::unwinder_find_object;

namespace {

std::atomic<int> calls{0};

int counted(void* address, LoadedObject* object) {
  ++calls;
  return find_object_by_headers(address, object);
}

// Unwinds by program headers while it exists, as before glibc 2.35.
class WithoutGlibc {
 public:
  WithoutGlibc() : before_(unwinder_find_object) {
    calls = 0;
    unwinder_find_object = counted;
  }
  ~WithoutGlibc() { unwinder_find_object = before_; }
  WithoutGlibc(const WithoutGlibc&) = delete;
  WithoutGlibc& operator=(const WithoutGlibc&) = delete;

 private:
  nearfar::FindObject* before_;
};

struct Noted {
  int& count;
  ~Noted() { ++count; }
};

[[gnu::noinline]] int fall(int depth, int& cleaned) {
  const Noted noted{cleaned};
  if (depth == 0) throw std::runtime_error("at the bottom");
  return fall(depth - 1, cleaned) + 1;
}

int compare(const void* left, const void* right) {
  if (*static_cast<const int*>(left) == 7) throw std::logic_error("seven");
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

}  // namespace

TEST_CASE("without glibc's search, exceptions unwind by program headers") {
  int cleaned = 0;
  std::string message;
  {
    const WithoutGlibc without;
    try {
      fall(20, cleaned);
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
  }
  CHECK(message == "at the bottom");
  CHECK(cleaned == 21);
  CHECK(calls > 20);
}

TEST_CASE("exceptions pass frames of another file, and are caught in several threads") {
  std::atomic<int> caught{0};
  {
    const WithoutGlibc without;
    auto sort = [&caught] {
      for (int round = 0; round < 200; ++round) {
        std::array<int, 4> values{7, 7, 7, 7};
        try {
          qsort(values.data(), values.size(), sizeof values[0], compare);  // in libc
        } catch (const std::logic_error&) {
          ++caught;
        }
      }
    };
    std::thread first(sort);
    std::thread second(sort);
    first.join();
    second.join();
  }
  CHECK(caught == 400);
  CHECK(calls >= 400);
}

TEST_CASE("program headers and glibc agree about every loaded file") {
  nearfar::FindObject* const glibc = nearfar::find_object_of_glibc();
  if (glibc == nullptr) return;  // nothing to compare with
  CHECK((unwinder_find_object == glibc));
  int files = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* file, std::size_t, void* data) {
        for (unsigned i = 0; i < file->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = file->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          auto* inside = reinterpret_cast<void*>(file->dlpi_addr + segment.p_vaddr + 1);
          LoadedObject own{};
          LoadedObject real{};
          CHECK(find_object_by_headers(inside, &own) == 0);
          CHECK(nearfar::find_object_of_glibc()(inside, &real) == 0);
          CHECK(own.begin == real.begin);
          CHECK(own.unwind_table == real.unwind_table);
          ++*static_cast<int*>(data);
        }
        return 0;
      },
      &files);
  CHECK(files >= 3);  // this program, libc, the loader
  int local = 0;
  LoadedObject none{};
  CHECK(find_object_by_headers(&local, &none) == -1);
  CHECK(find_object_by_headers(nullptr, &none) == -1);
}

TEST_CASE("the random device has an arc4random of its own, and draws from the kernel") {
  // glibc has one from 2.36 on; this program must not use it.
  CHECK(reinterpret_cast<void*>(&arc4random) != dlsym(RTLD_NEXT, "arc4random"));
  std::random_device device;
  std::set<unsigned> drawn;
  for (int i = 0; i < 64; ++i) drawn.insert(device());
  CHECK(drawn.size() >= 63);
}
