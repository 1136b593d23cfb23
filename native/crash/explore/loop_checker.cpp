// A checker that is started once and judges an image for each line that it reads:
//
//  it prints      ready
//  it reads       the image's path, the last operation that ended, the last that began
//  it prints      accept or refuse; lines before are its message
//
// The variable NEARFAR_CRASH_LOOP asks for this; without it the same command judges one image.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "crash/explore/checker.hpp"

namespace nearfar::crash {

namespace {

class LoopChecker final : public Checker {
 public:
  explicit LoopChecker(const Command& command) : command_(command) {}
  ~LoopChecker() override { end(); }

  // Starts the checker; returns false if it does not report that it is ready.
  bool begin() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot create a pipe");
    output_ = std::make_unique<Output>(command_.keep);
    const std::vector<std::string> words =
        command_.shell ? std::vector<std::string>{"/bin/sh", "-c", command_.words[0]}
                       : command_.words;
    checker_ = start(words, {"NEARFAR_CRASH_LOOP=1", NF_CRASH_IMAGE "=" + command_.image},
                     output_->write_end(), ends[0]);
    close(ends[0]);
    lines_ = ends[1];
    output_->close_write_end();
    return await_line({"ready"}, start_timeout_ms) == "ready";
  }

  Verdict run(const Cut& cut) override {
    const bool fresh = checker_ == 0;
    Verdict verdict = once(cut);
    if (verdict.symptom.empty() || fresh) return verdict;
    // A refusal counts only if a new process repeats it.
    end();
    return once(cut);
  }

 private:
  Verdict once(const Cut& cut) {
    if (checker_ == 0 && !begin()) throw std::runtime_error("the checker does not start again");
    output_->take();
    const std::string line =
        command_.image + ' ' + std::to_string(cut.done) + ' ' + std::to_string(cut.begun) + '\n';
    while (write(lines_, line.data(), line.size()) < 0 && errno == EINTR) {
    }
    const std::string answer = await_line({"accept", "refuse"}, *command_.limit_ms);
    std::string output = output_->take();
    if (answer == "accept") return {"", std::move(output), true};
    if (answer == "refuse") {
      output.resize(output.size() - (answer.size() + 1));
      return {"exit 1", std::move(output), true};
    }
    const int status = end();
    // A checker that ends without an answer does not accept the image.
    std::string symptom = answer == "ended" ? symptom_of(status) : "hang";
    if (symptom.empty()) symptom = "exit 0 without an answer";
    return {std::move(symptom), std::move(output), true};
  }

  // Waits until the last line of its output is one of `answers` and returns that line, or returns
  // "ended" or "hang".
  std::string await_line(std::initializer_list<const char*> answers, int timeout_ms) {
    const std::int64_t begin = now_ms();
    for (;;) {
      const int result =
          await_checker(output_->read_end(), nullptr, 0, *output_, timeout_ms, checker_, begin);
      const std::string& text = output_->text();
      for (const char* answer : answers) {
        const std::string line = std::string(answer) + '\n';
        const bool last = text.size() >= line.size() &&
                          text.compare(text.size() - line.size(), line.size(), line) == 0;
        if (last && (text.size() == line.size() || text[text.size() - line.size() - 1] == '\n'))
          return answer;
      }
      if (result != 1) return "hang";
      if (output_->ended()) return "ended";
    }
  }

  // Ends the checker and the processes that it started; returns its wait status.
  int end() {
    int status = 0;
    if (checker_ == 0) return status;
    if (!output_->ended()) kill(-checker_, SIGKILL);
    close(lines_);
    waitpid(checker_, &status, 0);
    kill(-checker_, SIGKILL);
    checker_ = 0;
    return status;
  }

  Command command_;
  std::unique_ptr<Output> output_;
  pid_t checker_ = 0;
  int lines_ = -1;
};

}  // namespace

std::unique_ptr<Checker> loop_checker(const Command& command) {
  if (!command.loop) return nullptr;
  auto checker = std::make_unique<LoopChecker>(command);
  if (!checker->begin()) return nullptr;
  return checker;
}

}  // namespace nearfar::crash
