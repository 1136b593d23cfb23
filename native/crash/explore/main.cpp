// nearfar_crash_judge explores a trace for `nearfar crash`, one process per worker.
//
//  Arguments: trace, image, bytes of the pool, seed, eadr, worker, workers, remaining ms, maximum
//  states, ms per check, first rank, first chunk, whether to serve checkers, whether to share
//  accepted states, library to preload; then for each check: flags (s shell, o oracle, r main
//  states only, d receives operations, f may be a function, l reads lines, - none), library or
//  empty, bytes of output to keep, number of words, words.
//
//  Sends R (for each check: 0 plain, 1 forked, 2 a function, 3 reads lines) and serves requests: U
//  judges the pool as the program left it (V by the served checkers, V by the plain ones), E
//  explores. It ends at end of input.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <exception>
#include <stdexcept>

#include "crash/explore/explorer.hpp"

using namespace nearfar::crash;

namespace {

class Arguments {
 public:
  Arguments(int count, char** words) : at_(words + 1), end_(words + count) {}
  bool left() const { return at_ != end_; }
  std::string text() {
    if (!left()) throw std::runtime_error("an argument is missing");
    return *at_++;
  }
  std::uint64_t number() { return strtoull(text().c_str(), nullptr, 10); }

 private:
  char** at_;
  char** end_;
};

Check parse_check(Arguments& arguments, const Command& common) {
  Check check;
  check.command = common;
  const std::string flags = arguments.text();
  check.command.function = flags.find('f') != std::string::npos;
  check.command.loop = flags.find('l') != std::string::npos;
  check.command.shell = flags.find('s') != std::string::npos;
  check.oracle = flags.find('o') != std::string::npos;
  check.main_states_only = flags.find('r') != std::string::npos;
  check.by_operation = flags.find('d') != std::string::npos;
  check.command.library = arguments.text();
  check.command.keep = arguments.number();
  for (std::uint64_t left = arguments.number(); left != 0; --left) {
    check.command.words.push_back(arguments.text());
  }
  check.plain = plain_checker(check.command);
  return check;
}

void serve_checks(std::vector<Check>& checks, bool serve) {
  Frame ready('R');
  for (Check& check : checks) {
    bool is_function = false;
    bool is_loop = false;
    if (serve) check.served = loop_checker(check.command);
    is_loop = check.served != nullptr;
    if (serve && !is_loop) check.served = served_checker(check.command, is_function);
    check.by_operation = check.by_operation || is_function || is_loop;
    ready.number(check.served == nullptr ? 0 : is_loop ? 3 : is_function ? 2 : 1);
  }
  ready.send();
}

void judge_uncrashed(const TraceFile& trace, Image& image, std::vector<Check>& checks) {
  Memory memory(image, true);
  memory.restart();
  std::uint64_t events = 0;
  trace.walk([&](const Event& event) {
    memory.feed(event, 0);
    events = event.position + 1;
    return true;
  });
  Judge judge(image, checks, nullptr);
  for (const bool plain : {false, true}) {
    const Verdict verdict =
        plain ? judge.judge_by_plain(memory, {}, events) : judge.judge(memory, {}, events, true);
    Frame('V').text(verdict.symptom).text(verdict.output).send();
  }
}

// A number of stacks, each with its number of frames and the frames.
std::unordered_set<std::uint64_t> receive_suspects(Request& request) {
  std::unordered_set<std::uint64_t> suspects;
  for (std::uint64_t left = request.number(); left != 0; --left) {
    std::vector<std::uint64_t> frames(request.number());
    for (std::uint64_t& frame : frames) frame = request.number();
    suspects.insert(store_place(frames.data(), static_cast<unsigned>(frames.size())));
  }
  return suspects;
}

void work(int count, char** words) {
  Arguments arguments(count, words);
  const TraceFile trace(arguments.text());
  const std::string image_path = arguments.text();
  const std::uint64_t pool_bytes = arguments.number();
  Plan plan;
  plan.seed = arguments.number();
  plan.eadr = arguments.number() != 0;
  plan.worker = arguments.number();
  plan.workers = arguments.number();
  const auto left_ms = static_cast<std::int64_t>(arguments.number());
  plan.max_states = arguments.number();
  Command common;
  common.image = image_path;
  common.timeout_ms = static_cast<int>(arguments.number());
  common.limit_ms = std::make_shared<int>(common.timeout_ms);
  plan.first_rank = arguments.number();
  plan.first_chunk = arguments.number();
  const bool serve = arguments.number() != 0;
  plan.shares_states = arguments.number() != 0;
  common.preload = arguments.text();
  std::vector<Check> checks;
  Image image(image_path, pool_bytes);
  while (arguments.left()) checks.push_back(parse_check(arguments, common));
  std::unique_ptr<AcceptedStates> accepted;
  if (plan.shares_states) {
    const std::string folder = image_path.substr(0, image_path.rfind('/') + 1);
    accepted = std::make_unique<AcceptedStates>(folder + "accepted-states");
  }
  serve_checks(checks, serve);
  for (;;) {
    Request request = Request::receive();
    if (request.type() == 'U') {
      judge_uncrashed(trace, image, checks);
    } else if (request.type() == 'E') {
      plan.deadline_ms = now_ms() + left_ms;
      plan.suspects = receive_suspects(request);
      Memory memory(image, plan.eadr);
      Judge judge(image, checks, accepted.get());
      judge.shortens_hangs = serve;
      Explorer(trace, memory, judge, plan).explore();
    }
  }
}

// A page of the image's file cannot be allocated, because the disk is full.
void on_full_disk(int) {
  Frame('!')
      .text(
          "no space is left for an image of the pool: free some in the folder for temporary "
          "files, or explore a smaller pool")
      .send();
  _exit(1);
}

}  // namespace

int main(int count, char** words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  // nearfar handles Ctrl-C.
  signal(SIGINT, SIG_IGN);
  signal(SIGBUS, on_full_disk);
  try {
    work(count, words);
  } catch (const EndOfInput&) {
    return 0;
  } catch (const std::exception& error) {
    Frame('!').text(error.what()).send();
    return 1;
  }
  return 0;
}
