// A checker that is loaded once and stopped before its main. It is forked for each cut, or, if the
// checker is a function, called in a process that persists until a check fails.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "crash/explore/checker.hpp"
#include "crash/trace.h"

namespace nearfar::crash {

namespace {

constexpr int end_timeout_ms = 1000;
// A check that fails in a persistent process but not in a new one was affected by an earlier check.
// If this happens so many times in a row within the first checks of a process, processes are no
// longer kept.
constexpr int max_affected = 3;
constexpr unsigned early_checks = 16;

class Pipe {
 public:
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot create a pipe");
    // High numbers, so that they do not collide with the checker's own descriptors.
    for (int i = 0; i < 2; ++i) {
      const int high = fcntl(ends[i], F_DUPFD_CLOEXEC, 200);
      ends_[i] = high < 0 ? ends[i] : high;
      if (high >= 0) close(ends[i]);
    }
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int end(int index) const { return ends_[index]; }
  void close_end(int index) {
    if (ends_[index] >= 0) close(ends_[index]);
    ends_[index] = -1;
  }

 private:
  int ends_[2];
};

// Memory of the batches, shared with the server.
class BatchMemory {
 public:
  BatchMemory() : file_(memfd_create("nearfar-batch", MFD_CLOEXEC)) {
    if (file_ < 0 || ftruncate(file_, max_batch_bytes) != 0)
      throw std::runtime_error("no memory for a batch of states");
    const int high = fcntl(file_, F_DUPFD_CLOEXEC, 200);
    if (high >= 0) close_file();
    if (high >= 0) file_ = high;
    void* const begin =
        mmap(nullptr, max_batch_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (begin == MAP_FAILED) throw std::runtime_error("no memory for a batch of states");
    batch_ = static_cast<Batch*>(begin);
  }
  ~BatchMemory() {
    munmap(batch_, max_batch_bytes);
    close_file();
  }
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;
  int file() const { return file_; }
  void close_file() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }
  const Batch& batch() const { return *batch_; }
  // Writes as many states as fit; returns their number.
  std::uint32_t write(const Patch* states, std::size_t count) {
    char* at = reinterpret_cast<char*>(batch_ + 1);
    const char* const end = reinterpret_cast<char*>(batch_) + max_batch_bytes;
    *batch_ = {};
    batch_->begun_ms = now_ms();
    std::uint32_t written = 0;
    for (; written < count && written < max_batch_states; ++written) {
      const Patch& state = states[written];
      const std::uint64_t lines = state.size();
      if (at + 8 + lines * (8 + NF_CRASH_LINE) > end) break;
      memcpy(at, &lines, sizeof lines);
      at += sizeof lines;
      for (const PatchedLine& line : state) {
        memcpy(at, &line.offset, sizeof line.offset);
        memcpy(at + sizeof line.offset, line.content, NF_CRASH_LINE);
        at += sizeof line.offset + NF_CRASH_LINE;
      }
    }
    return written;
  }

 private:
  int file_;
  Batch* batch_ = nullptr;
};

class ServedChecker final : public Checker {
 public:
  explicit ServedChecker(const Command& command) : command_(command), output_(command.keep) {}
  ~ServedChecker() override {
    // The server reaps its child first, so that the child's time is included.
    if (child_ > 0) {
      kill(-child_, SIGKILL);
      kill(child_, SIGKILL);
    }
    if (server_ <= 0) return;
    control_.close_end(1);
    Answer last{};
    while (listen(last, now_ms() + end_timeout_ms) == 1) {
    }
    kill(-server_, SIGKILL);
    waitpid(server_, nullptr, 0);
  }

  // Starts the checker; returns false if it cannot be served.
  bool begin(bool& as_function) {
    // The checker inherits only its ends of the pipes.
    for (const int end : {control_.end(0), ask_.end(0), answer_.end(1), memory_.file()}) {
      fcntl(end, F_SETFD, 0);
    }
    std::vector<std::string> variables{
        "LD_PRELOAD=" + command_.preload, NF_CRASH_IMAGE "=" + command_.image,
        NF_CRASH_SERVE "=" + std::to_string(control_.end(0)) + "," + std::to_string(ask_.end(0)) +
            "," + std::to_string(answer_.end(1)) + "," + std::to_string(memory_.file())};
    // Opening and closing a pool mostly takes time in malloc and free, which repeat the same sizes.
    if (getenv("GLIBC_TUNABLES") == nullptr) {
      variables.emplace_back(
          "GLIBC_TUNABLES=glibc.malloc.tcache_count=60000:glibc.malloc.trim_threshold=1000000000:"
          "glibc.malloc.top_pad=16000000:glibc.malloc.mmap_threshold=1000000000");
    }
    if (!command_.library.empty()) {
      variables.push_back(NF_CRASH_CHECKER_LIBRARY "=" + command_.library);
    }
    server_ = start(command_.words, variables, output_.write_end());
    memory_.close_file();
    control_.close_end(0);
    ask_.close_end(0);
    answer_.close_end(1);
    Answer ready{};
    const bool is_ready =
        listen(ready, now_ms() + start_timeout_ms) == 1 && ready.status == CheckerStatus::ready;
    as_function = is_function_ = is_ready && ready.value != 0;
    output_.drain();
    output_.take();
    return is_ready;
  }

  bool takes_batches() const override { return is_function_ && keep_; }

  Accepted accept(const Cut& cut, const Patch* states, std::size_t count) override {
    if (!takes_batches()) return {};
    Cut batch = cut;
    batch.batch = memory_.write(states, count);
    if (batch.batch == 0) return {};
    if (child_ == 0) fork_child(batch);
    send(ask_, batch);
    Answer last{};
    int result = 0;
    do {
      const std::int64_t begun_ms = __atomic_load_n(&memory_.batch().begun_ms, __ATOMIC_ACQUIRE);
      result = await_checker(answer_.end(0), &last, sizeof last, output_, *command_.limit_ms,
                             child_, begun_ms);
      if (result == 0 && begun_ms == __atomic_load_n(&memory_.batch().begun_ms, __ATOMIC_ACQUIRE))
        break;
    } while (result == 0);
    if (result < 0) throw std::runtime_error("the checker's server ended");
    output_.drain();
    output_.take();
    if (result == 1 && last.status == CheckerStatus::judged) {
      served_ += last.accepted;
      refused_ = last.value != 0;
      if (refused_) end_child();
      return {last.accepted, last.may_have_changed != 0};
    }
    // The check hangs or its process ended: a new process judges the state again.
    if (result == 0) {
      end_child();
    } else {
      kill(-child_, SIGKILL);
      child_ = 0;
    }
    return {memory_.batch().judging, true};
  }

  Verdict run(const Cut& cut) override {
    const bool fresh = child_ == 0;
    Verdict verdict = once(cut);
    if (fresh && refused_) note_repeated(verdict);
    if (!is_function_ || verdict.symptom.empty()) return verdict;
    // A rejection by a persistent process counts only if a new process confirms it.
    end_child();
    if (fresh) return verdict;
    Verdict again = once(cut);
    if (!again.symptom.empty()) end_child();
    note_repeated(again);
    again.may_have_changed = again.may_have_changed || verdict.may_have_changed;
    return again;
  }

 private:
  // Notes the verdict of a new process on a state that a persistent process refused.
  void note_repeated(const Verdict& verdict) {
    refused_ = false;
    if (verdict.symptom.empty() && served_ < early_checks && ++affected_ == max_affected) {
      keep_ = false;
    }
    served_ = 0;
  }

  int listen(Answer& into, std::int64_t deadline) {
    return await(answer_.end(0), &into, sizeof into, output_, deadline);
  }

  void send(const Pipe& pipe, const Cut& cut) {
    while (write(pipe.end(1), &cut, sizeof cut) < 0) {
      if (errno != EINTR) throw std::runtime_error("the checker's server ended");
    }
  }

  void fork_child(const Cut& cut) {
    send(control_, cut);
    Answer forked{};
    if (listen(forked, now_ms() + start_timeout_ms) != 1 ||
        forked.status != CheckerStatus::forked) {
      throw std::runtime_error("the checker's server does not answer");
    }
    child_ = forked.value;
  }

  Verdict once(const Cut& cut) {
    if (child_ == 0) fork_child(cut);
    if (is_function_) send(ask_, cut);
    Answer last{};
    const int result = await_checker(answer_.end(0), &last, sizeof last, output_,
                                     *command_.limit_ms, child_, now_ms());
    if (result < 0) throw std::runtime_error("the checker's server ended");
    if (result == 0) {
      end_child();
      output_.drain();
      return {"hang", output_.take(), true};
    }
    // `await` checks for the answer before it drains output, so earlier output is complete.
    served_ += 1;
    if (last.status == CheckerStatus::judged) {
      std::string symptom = last.value == 0 ? "" : "exit " + std::to_string(code(last.value));
      if (!keep_) end_child();
      return {std::move(symptom), output_.take(), last.may_have_changed != 0};
    }
    const pid_t child = child_;
    child_ = 0;
    // Ends its remaining processes.
    kill(-child, SIGKILL);
    std::string symptom = symptom_of(last.value);
    // A checker function that exits its process has not accepted the image.
    if (is_function_ && symptom.empty()) symptom = "exit 255";
    return {std::move(symptom), output_.take(), last.may_have_changed != 0};
  }

  static int code(int value) { return (value & 0xff) == 0 ? 255 : value & 0xff; }

  void end_child() {
    if (child_ == 0) return;
    kill(-child_, SIGKILL);
    kill(child_, SIGKILL);
    child_ = 0;
    Answer ended{};
    while (listen(ended, now_ms() + start_timeout_ms) == 1 &&
           ended.status != CheckerStatus::ended) {
    }
    if (ended.status != CheckerStatus::ended)
      throw std::runtime_error("the checker cannot be ended");
  }

  Command command_;
  BatchMemory memory_;
  Output output_;
  Pipe control_;
  Pipe ask_;
  Pipe answer_;
  pid_t server_ = 0;
  pid_t child_ = 0;
  bool is_function_ = false;
  bool keep_ = true;
  bool refused_ = false;  // by a persistent process, in a batch
  unsigned served_ = 0;
  int affected_ = 0;
};

// Scripts and shell lines start programs that share the pool, so only ELF programs can be served.
bool is_elf(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char magic[4] = {};
  const bool elf = read(file, magic, sizeof magic) == sizeof magic && magic[0] == 0x7f &&
                   magic[1] == 'E' && magic[2] == 'L' && magic[3] == 'F';
  close(file);
  return elf;
}

}  // namespace

std::unique_ptr<Checker> served_checker(const Command& command, bool& as_function) {
  as_function = false;
  if (command.shell || !is_elf(command.words[0])) return nullptr;
  auto served = std::make_unique<ServedChecker>(command);
  if (!served->begin(as_function)) return nullptr;
  return served;
}

}  // namespace nearfar::crash
