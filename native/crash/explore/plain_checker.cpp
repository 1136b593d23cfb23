// A checker that is started for each cut.
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/explore/checker.hpp"

namespace nearfar::crash {

namespace {

std::string in_flight(const Cut& cut) {
  std::string text;
  for (unsigned i = 0; i < cut.in_flight_count; ++i) {
    if (i != 0) text += ',';
    text += std::to_string(cut.in_flight[i]);
  }
  return text;
}

std::string substituted(std::string text, const Cut& cut) {
  const std::pair<const char*, std::string> facts[] = {{"{done}", std::to_string(cut.done)},
                                                       {"{begun}", std::to_string(cut.begun)},
                                                       {"{in_flight}", in_flight(cut)}};
  for (const auto& [name, value] : facts) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
      text.replace(at, strlen(name), value);
    }
  }
  return text;
}

class PlainChecker final : public Checker {
 public:
  explicit PlainChecker(const Command& command) : command_(command) {}

  Verdict run(const Cut& cut) override {
    Output output(command_.keep);
    std::vector<std::string> words;
    words.reserve(command_.words.size());
    for (const std::string& word : command_.words) words.push_back(substituted(word, cut));
    if (command_.shell) words = {"/bin/sh", "-c", words[0]};
    std::string once = std::to_string(cut.done) + "," + std::to_string(cut.begun);
    if (cut.in_flight_count != 0) once += "," + in_flight(cut);
    std::vector<std::string> variables{NF_CRASH_IMAGE "=" + command_.image};
    if (command_.function) {
      variables.push_back("LD_PRELOAD=" + command_.preload);
      variables.push_back(NF_CRASH_ONCE "=" + once);
    }
    if (!command_.library.empty()) {
      variables.push_back(NF_CRASH_CHECKER_LIBRARY "=" + command_.library);
    }
    const pid_t child = start(words, variables, output.write_end());
    const int ended = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    const bool in_time =
        await_checker(ended, nullptr, 0, output, *command_.limit_ms, child, now_ms()) == 1;
    // Also ends the checker's remaining processes, which might keep the pool open.
    kill(-child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(ended);
    output.drain();
    return {in_time ? symptom_of(status) : "hang", output.take(), true};
  }

 private:
  Command command_;
};

}  // namespace

std::unique_ptr<Checker> plain_checker(const Command& command) {
  return std::make_unique<PlainChecker>(command);
}

}  // namespace nearfar::crash
