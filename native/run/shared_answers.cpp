#include "run/shared_answers.hpp"

#include <link.h>
#include <sys/stat.h>

#include "base/find_object.hpp"
#include "profile/runtime/interpreter.hpp"
#include "run/state.hpp"

namespace nearfar::run {

namespace {

constexpr std::uint64_t free_key = 0;
constexpr std::uint64_t key_being_written = 1;
constexpr unsigned max_shared_probes = 8;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ hash >> 29;
}

// A file with code in this process. All processes identify it by its inode and its time, because a
// build may replace the file.
struct CodeFile {
  const void* begin;  // written last; null: free
  std::uint64_t identity;
};
CodeFile code_files[256];

// Null before glibc 2.35: processes then share no answers, because other searches take the loader's
// lock, and the thread that holds it may wait for this one.
FindObject* find_object = nullptr;

std::uint64_t identity_of(const link_map& map) {
  struct stat status {};
  // The program itself has an empty name here.
  if (stat(map.l_name[0] == '\0' ? "/proc/self/exe" : map.l_name, &status) != 0) return 0;
  std::uint64_t hash = mix(mix(1, status.st_dev), status.st_ino);
  hash = mix(hash, static_cast<std::uint64_t>(status.st_mtim.tv_sec));
  return mix(hash, static_cast<std::uint64_t>(status.st_mtim.tv_nsec)) | 1;
}

// Returns 0 if the file cannot be identified.
std::uint64_t file_identity(const LoadedObject& object) {
  const auto start = reinterpret_cast<std::uint64_t>(object.begin) / page_bytes;
  CodeFile& file = code_files[mix(0, start) >> 56];
  if (__atomic_load_n(&file.begin, __ATOMIC_ACQUIRE) == object.begin) {
    return file.identity;
  }
  const std::uint64_t identity = identity_of(*object.map);
  const void* unclaimed = nullptr;
  // If two files share an entry, only the first is cached.
  static const char claimed = 0;
  if (identity != 0 && __atomic_compare_exchange_n(&file.begin, &unclaimed, &claimed, false,
                                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    file.identity = identity;
    __atomic_store_n(&file.begin, static_cast<const void*>(object.begin), __ATOMIC_RELEASE);
  }
  return identity;
}

// Returns the hash of a frame; 0 if other processes cannot have the frame.
std::uint64_t frame_hash(std::uint64_t frame) {
  if ((frame & profile::named_frame_bit) != 0) {
    std::uint64_t hash = 2;
    const auto* text = reinterpret_cast<const char*>(frame & ~profile::named_frame_bit);
    for (; *text != '\0'; ++text) hash = mix(hash, static_cast<unsigned char>(*text));
    return hash | 1;
  }
  LoadedObject object{};
  if (find_object == nullptr || find_object(reinterpret_cast<void*>(frame), &object) != 0) {
    return 0;
  }
  const std::uint64_t identity = file_identity(object);
  const std::uint64_t offset = frame - reinterpret_cast<std::uint64_t>(object.begin);
  return identity == 0 ? 0 : mix(identity, offset) | 1;
}

nf_run_shared& slot_of(std::uint64_t key, unsigned probe) {
  return table->answers[((key >> 32) + probe) % NF_RUN_ANSWERS];
}

// Adds an entry unless its key exists; returns false if there is no space.
bool write_entry(const nf_run_shared& entry) {
  for (unsigned probe = 0; probe < max_shared_probes; ++probe) {
    nf_run_shared& shared = slot_of(entry.key, probe);
    std::uint64_t seen = free_key;
    if (!__atomic_compare_exchange_n(&shared.key, &seen, key_being_written, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
      if (seen == entry.key) return true;
      continue;
    }
    shared.object = entry.object;
    shared.target = entry.target;
    shared.alike = entry.alike;
    __atomic_store_n(&shared.key, entry.key, __ATOMIC_RELEASE);
    __atomic_fetch_add(&table->answers_used, 1u, __ATOMIC_RELAXED);
    return true;
  }
  return false;
}

}  // namespace

void start_shared_answers() { find_object = find_object_of_glibc(); }

std::uint64_t first_key(std::uint32_t root) { return mix(root, 3); }

std::uint64_t next_key(std::uint64_t before, std::uint64_t frame) {
  const std::uint64_t hash = frame_hash(frame);
  return hash == 0 ? 0 : mix(before, hash) | 2;
}

SharedKeys shared_keys(std::uint32_t root, const std::uint64_t* frames, unsigned count) {
  SharedKeys keys{};
  std::uint64_t key = first_key(root);
  for (; keys.count < count; ++keys.count) {
    key = next_key(key, frames[keys.count]);
    if (key == 0) break;
    keys.key[keys.count] = key;
  }
  return keys;
}

bool find_shared(std::uint64_t key, nf_run_shared& entry) {
  for (unsigned probe = 0; probe < max_shared_probes; ++probe) {
    const nf_run_shared& shared = slot_of(key, probe);
    const std::uint64_t seen = __atomic_load_n(&shared.key, __ATOMIC_ACQUIRE);
    if (seen == free_key) return false;
    if (seen != key) continue;
    entry = shared;
    return true;
  }
  return false;
}

bool find_shared(const SharedKeys& keys, nf_run_answer& answer) {
  for (unsigned depth = 1; depth <= keys.count; ++depth) {
    nf_run_shared entry{};
    if (!find_shared(keys.key[depth - 1], entry) || entry.target == NF_RUN_STEP) continue;
    answer = {entry.object, entry.target, depth, entry.alike};
    return true;
  }
  return false;
}

bool share(const SharedKeys& keys, const nf_run_answer& answer) {
  return answer.depth <= keys.count &&
         write_entry({keys.key[answer.depth - 1], answer.object, answer.target, answer.alike});
}

void share_step(std::uint64_t key, std::uint32_t step) {
  // A step only saves time, but an answer saves a question: half of the table is reserved for
  // answers.
  if (__atomic_load_n(&table->answers_used, __ATOMIC_RELAXED) >= NF_RUN_ANSWERS / 2) return;
  write_entry({key, NF_RUN_NO_OBJECT, NF_RUN_STEP, step});
}

void forget_files() {
  for (CodeFile& file : code_files) {
    __atomic_store_n(&file.begin, static_cast<const void*>(nullptr), __ATOMIC_RELEASE);
  }
}

}  // namespace nearfar::run
