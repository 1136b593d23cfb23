// Reads CPython's frames through its C API (3.9 and newer), without internals of a version.
//
// The thread must hold the interpreter's lock, because otherwise the objects might change during
// the reading. If the thread has released the lock (as NumPy does while it clears an array) and is
// the only Python thread, the lock is taken here. With other Python threads this could deadlock: a
// thread that has the lock might wait for one that this thread holds. The calls may create frame
// objects. So garbage collection, which would run the program's finalizers inside an allocation, is
// disabled during the reading, an exception that is being raised is saved and restored, and these
// objects are not in CPython's arenas, because the call may come from code that makes an arena.
#include "profile/runtime/interpreter.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "profile/runtime/loaded_file.hpp"
#include "profile/runtime/python_allocator.hpp"

namespace nearfar::profile {

namespace {

using Object = void;

#define NEARFAR_PYTHON(FUNCTION)                                             \
  FUNCTION(PyGILState_GetThisThreadState, void*, ())                         \
  FUNCTION(PyThreadState_GetInterpreter, void*, (void*))                     \
  FUNCTION(PyInterpreterState_ThreadHead, void*, (void*))                    \
  FUNCTION(PyThreadState_Next, void*, (void*))                               \
  FUNCTION(PyEval_RestoreThread, void, (void*))                              \
  FUNCTION(PyEval_SaveThread, void*, ())                                     \
  FUNCTION(PyEval_GetFrame, Object*, ())                                     \
  FUNCTION(PyFrame_GetBack, Object*, (Object*))                              \
  FUNCTION(PyFrame_GetCode, Object*, (Object*))                              \
  FUNCTION(PyFrame_GetLineNumber, int, (Object*))                            \
  FUNCTION(PyUnicode_InternFromString, Object*, (const char*))               \
  FUNCTION(PyObject_GetAttr, Object*, (Object*, Object*))                    \
  FUNCTION(PyUnicode_AsUTF8AndSize, const char*, (Object*, std::ptrdiff_t*)) \
  FUNCTION(Py_IncRef, void, (Object*))                                       \
  FUNCTION(Py_DecRef, void, (Object*))                                       \
  FUNCTION(PyErr_Fetch, void, (Object**, Object**, Object**))                \
  FUNCTION(PyErr_Restore, void, (Object*, Object*, Object*))                 \
  FUNCTION(PyObject_GetArenaAllocator, void, (void*))                        \
  FUNCTION(PyMem_GetAllocator, void, (int, PythonAllocator*))                \
  FUNCTION(PyMem_SetAllocator, void, (int, const PythonAllocator*))

struct Python {
#define NEARFAR_MEMBER(name, result, parameters) result(*name) parameters;
  NEARFAR_PYTHON(NEARFAR_MEMBER)
#undef NEARFAR_MEMBER
  void* (*holder)();                 // the thread that holds the lock; renamed in 3.13
  int (*PyFrame_GetLasti)(Object*);  // since 3.11
  // Since 3.10; before, frame objects always existed.
  int (*PyGC_Disable)();
  int (*PyGC_Enable)();
};
Python python;
Extent python_file;
bool python_known = false;

template <typename F>
bool find(F*& function, const char* name) {
  function = reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

Extent file_of(std::uint64_t address) {
  struct {
    std::uint64_t address;
    Extent extent;
  } search{address, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& looked_for = *static_cast<decltype(search)*>(data);
        const Extent file = extent_of(*info);
        if (looked_for.address < file.begin || looked_for.address >= file.end) return 0;
        looked_for.extent = file;
        return 1;
      },
      &search);
  return search.extent;
}

// Looks up CPython. It is usually loaded from the start. Later attempts become ever rarer, because
// the look-up takes the loader's lock.
bool find_python() {
  if (__atomic_load_n(&python_known, __ATOMIC_ACQUIRE)) return true;
  static std::uint32_t attempts = 0;
  const std::uint32_t attempt = __atomic_add_fetch(&attempts, 1u, __ATOMIC_RELAXED);
  if ((attempt & (attempt - 1)) != 0) return false;
  Python functions{};
#define NEARFAR_FIND(name, result, parameters) \
  if (!find(functions.name, #name)) return false;
  NEARFAR_PYTHON(NEARFAR_FIND)
#undef NEARFAR_FIND
  if (!find(functions.holder, "_PyThreadState_UncheckedGet") &&
      !find(functions.holder, "PyThreadState_GetUnchecked")) {
    return false;
  }
  find(functions.PyFrame_GetLasti, "PyFrame_GetLasti");
  find(functions.PyGC_Disable, "PyGC_Disable");
  find(functions.PyGC_Enable, "PyGC_Enable");
  python = functions;
  python_file = file_of(reinterpret_cast<std::uint64_t>(functions.PyMem_GetAllocator));
  __atomic_store_n(&python_known, true, __ATOMIC_RELEASE);
  return true;
}

// Named frames, found by the hash of their text. Each hash has the number of its newest frame, plus
// one, and each frame that of the next older one. A large program has some thousands of frames;
// those of a short-lived one fit on one page.
constexpr unsigned max_names = 1u << 14;
constexpr std::size_t text_size = 1u << 20;
struct Name {
  NamedFrame frame;
  std::uint16_t next;  // next frame with the same hash
};
Name names[max_names];
std::uint16_t newest_names[1u << 11];
unsigned names_used = 0;
char texts[text_size];
std::size_t text_used = 0;
std::uint32_t names_lock = 0;

std::uint64_t hash_of(const char* text) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (; *text != '\0'; ++text)
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001B3ull;
  return hash ^ hash >> 32;
}

NamedFrame* find_or_add(const char* text) {
  constexpr std::size_t hashes = sizeof newest_names / sizeof *newest_names;
  std::uint16_t& newest = newest_names[hash_of(text) % hashes];
  for (unsigned number = newest; number != 0; number = names[number - 1].next) {
    Name& name = names[number - 1];
    if (strcmp(name.frame.text, text) == 0) return &name.frame;
  }
  const std::size_t size = strlen(text) + 1;
  if (names_used == max_names || text_used + size > text_size) return nullptr;
  Name& name = names[names_used++];
  name.frame.text = static_cast<char*>(memcpy(texts + text_used, text, size));
  text_used += size;
  name.next = newest;
  newest = static_cast<std::uint16_t>(names_used);
  return &name.frame;
}

// Returns null if the table is full or in use. Several interpreters with separate locks are rare,
// and the child of a fork must not wait for a thread that it does not have.
NamedFrame* named(const char* text) {
  if (__atomic_exchange_n(&names_lock, 1u, __ATOMIC_ACQUIRE) != 0) return nullptr;
  NamedFrame* const frame = find_or_add(text);
  __atomic_store_n(&names_lock, 0u, __ATOMIC_RELEASE);
  return frame;
}

bool starts_with(const char* text, const char* start) {
  return strncmp(text, start, strlen(start)) == 0;
}

// Whether the code belongs to Python itself or to an installed package. Its allocations are
// attributed to its caller.
bool is_library(const char* file) {
  return strstr(file, "/site-packages/") != nullptr || strstr(file, "/dist-packages/") != nullptr ||
         strstr(file, "/lib/python3") != nullptr || starts_with(file, "<frozen") ||
         starts_with(file, "<__array_function__");
}

// Names of attributes. They are made once: a new one for each reading would push others out of
// CPython's cache of attributes.
struct Attributes {
  Object* file = nullptr;
  Object* function = nullptr;

  bool known() {
    if (file == nullptr) file = python.PyUnicode_InternFromString("co_filename");
    if (function == nullptr) function = python.PyUnicode_InternFromString("co_name");
    return file != nullptr && function != nullptr;
  }
};
Attributes attributes;

// Copies a text attribute of a code object; returns false if there is none.
bool read_text(Object* code, Object* attribute, char* text, std::size_t size) {
  Object* const value = python.PyObject_GetAttr(code, attribute);
  if (value == nullptr) return false;
  const char* const utf8 = python.PyUnicode_AsUTF8AndSize(value, nullptr);
  if (utf8 != nullptr) snprintf(text, size, "%s", utf8);
  python.Py_DecRef(value);
  return utf8 != nullptr;
}

struct Frames {
  NamedFrame** frames;
  unsigned max_count;
  unsigned count;
  bool users;  // whether it is in the user's files
};

// Cache of places, because reading the texts and finding the line take most of the time. The key is
// the code object, which is kept alive, and the instruction (before 3.11: the line). Each hash has
// the number of one place, plus one, which is written once, after the place.
struct Place {
  Object* code;
  int at;
  NamedFrame* frame;
  bool users;
};
constexpr unsigned place_bits = 12;
Place places[1u << place_bits];
std::uint16_t place_numbers[1u << place_bits];
std::uint16_t places_used = 0;

std::uint16_t& number_of(Object* code, int at) {
  const std::uint64_t mixed = (reinterpret_cast<std::uint64_t>(code) >> 4) +
                              static_cast<std::uint64_t>(at) * 0x9E3779B97F4A7C15ull;
  return place_numbers[(mixed * 0xD6E8FEB86659FD93ull) >> (64 - place_bits)];
}

// Returns false if the texts cannot be read.
bool read_place(Object* code, int at, int line, Place& place) {
  char file[768];
  char function[128];
  if (!attributes.known() || !read_text(code, attributes.file, file, sizeof file) ||
      !read_text(code, attributes.function, function, sizeof function)) {
    return false;
  }
  char text[1024];
  snprintf(text, sizeof text, "%d\t%s\t%s", line > 0 ? line : 0, function, file);
  place = {code, at, named(text), !is_library(file)};
  return place.frame != nullptr;
}

void keep(const Place& place) {
  std::uint16_t& number = number_of(place.code, place.at);
  if (__atomic_exchange_n(&names_lock, 1u, __ATOMIC_ACQUIRE) != 0) return;
  if (number == 0) {
    python.Py_IncRef(place.code);
    places[places_used++] = place;
    __atomic_store_n(&number, places_used, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&names_lock, 0u, __ATOMIC_RELEASE);
}

bool find_place(Object* frame, Object* code, Place& place) {
  const bool has_instructions = python.PyFrame_GetLasti != nullptr;
  const int at =
      has_instructions ? python.PyFrame_GetLasti(frame) : python.PyFrame_GetLineNumber(frame);
  const unsigned number = __atomic_load_n(&number_of(code, at), __ATOMIC_ACQUIRE);
  if (number != 0 && places[number - 1].code == code && places[number - 1].at == at) {
    place = places[number - 1];
    return true;
  }
  const int line = has_instructions ? python.PyFrame_GetLineNumber(frame) : at;
  if (!read_place(code, at, line, place)) return false;
  keep(place);
  return true;
}

void add_frame(Frames& result, Object* frame) {
  Object* const code = python.PyFrame_GetCode(frame);
  if (code == nullptr) return;
  Place place{};
  const bool known = find_place(frame, code, place);
  python.Py_DecRef(code);
  if (!known) return;
  if (place.users && !result.users) result.count = 0;
  result.users = result.users || place.users;
  if (place.users != result.users || result.count == result.max_count) return;
  result.frames[result.count++] = place.frame;
}

void read_frames(Frames& result) {
  // Callers further away are not useful as an object's name.
  constexpr unsigned max_walked = 64;
  Object* frame = python.PyEval_GetFrame();
  if (frame != nullptr) python.Py_IncRef(frame);
  for (unsigned i = 0; frame != nullptr && i < max_walked; ++i) {
    add_frame(result, frame);
    const bool enough = result.users && result.count == result.max_count;
    Object* const back = enough ? nullptr : python.PyFrame_GetBack(frame);
    python.Py_DecRef(frame);
    frame = back;
  }
  if (frame != nullptr) python.Py_DecRef(frame);
}

bool is_only_thread(void* thread) {
  void* const interpreter = python.PyThreadState_GetInterpreter(thread);
  return python.PyInterpreterState_ThreadHead(interpreter) == thread &&
         python.PyThreadState_Next(thread) == nullptr;
}

// Holds the interpreter's lock for a scope, if this thread runs the interpreter and either has the
// lock or may take it.
class InterpreterLock {
 public:
  explicit InterpreterLock(bool may_take) {
    void* const thread = python.PyGILState_GetThisThreadState();
    if (thread == nullptr) return;
    void* const holder = python.holder();
    held_ = holder == thread;
    if (held_ || !may_take || holder != nullptr || !is_only_thread(thread)) return;
    python.PyEval_RestoreThread(thread);
    held_ = taken_ = true;
  }
  ~InterpreterLock() {
    if (taken_) python.PyEval_SaveThread();
  }
  InterpreterLock(const InterpreterLock&) = delete;
  InterpreterLock& operator=(const InterpreterLock&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_ = false;
  bool taken_ = false;
};

bool is_arena(Call call) {
  struct {
    void* context;
    void* (*allocate)(void*, std::size_t);
    void (*release)(void*, void*, std::size_t);
  } arenas{};
  python.PyObject_GetArenaAllocator(&arenas);
  // The call is inside the function that maps an arena, which is short.
  constexpr std::uint64_t function_bytes = 256;
  return call.return_address - reinterpret_cast<std::uint64_t>(arenas.allocate) < function_bytes;
}

// Whether CPython may call on behalf of a tool that wraps its allocators, such as tracemalloc. Such
// a tool holds a lock while its tables grow, and objects that are freed here would wait for this
// lock. Extension modules do not have it.
bool may_be_locked(Call call) {
  if (in_python_allocator || call.return_address < python_file.begin ||
      call.return_address >= python_file.end) {
    return false;
  }
  constexpr int raw = 0;  // PYMEM_DOMAIN_RAW
  PythonAllocator allocator{};
  python.PyMem_GetAllocator(raw, &allocator);
  return allocator.context != nullptr;  // null in Python's own
}

// True while this thread reads frames: allocations then get a native stack.
__thread bool reading __attribute__((tls_model("initial-exec"))) = false;

// Reads the frames without a trace in the program's state.
void read_frames_unseen(Frames& result) {
  const BesideArenas aside(python.PyMem_GetAllocator, python.PyMem_SetAllocator);
  if (!aside) return;
  Object* error[3] = {};
  python.PyErr_Fetch(&error[0], &error[1], &error[2]);
  const bool collects = python.PyGC_Disable != nullptr && python.PyGC_Disable() != 0;
  read_frames(result);
  if (collects) python.PyGC_Enable();
  python.PyErr_Restore(error[0], error[1], error[2]);
}

}  // namespace

__thread bool in_python_allocator = false;

bool maps_python_arena(Call call) {
  return __atomic_load_n(&python_known, __ATOMIC_ACQUIRE) && is_arena(call);
}

unsigned interpreter_frames(Call call, NamedFrame** frames, unsigned max_count) {
  if (!find_python()) return 0;
  const bool in_python = call.return_address == 0;
  // Also needed while frames are read, because that creates objects and so may map an arena.
  if (!in_python && is_arena(call)) {
    frames[0] = named("0\tCPython arenas\t");
    return frames[0] == nullptr ? 0 : 1;
  }
  if (reading || may_be_locked(call)) return 0;
  reading = true;
  Frames result{frames, max_count, 0, false};
  if (InterpreterLock const lock(!in_python); lock) read_frames_unseen(result);
  reading = false;
  return result.count;
}

}  // namespace nearfar::profile
