// nearfar-bench runs a workload once, or checks or drives a pool. README.md describes the
// interface.
#include <cstdio>
#include <exception>
#include <system_error>

#include "bench/json.hpp"
#include "bench/kind.hpp"
#include "bench/run.hpp"

namespace nearfar::bench {
namespace {

constexpr const char* usage =
    "usage: list; run KIND key=value ...; turns KIND key=value ...; check KIND POOL; dump KIND "
    "POOL; "
    "or drive KIND POOL OPERATIONS SEED";

void list() {
  Json json;
  json.open('[');
  for (const Kind* kind : kinds()) {
    json.open('{').pair("name", kind->name).pair("summary", kind->summary);
    json.pair("needs", kind->needs);
    json.key("parameters").open('[');
    for (const Parameter& parameter : kind->parameters) {
      json.open('{').pair("name", parameter.name).pair("default", parameter.fallback);
      json.pair("meaning", parameter.meaning).close('}');
    }
    json.close(']').close('}');
  }
  json.close(']');
  std::puts(json.text().c_str());
}

const Kind& kind_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Kind* kind : kinds()) {
    if (kind->name == name) {
      if (kind->needs.empty()) return *kind;
      throw MachineError(
          name + " needs " + kind->needs +
          ", which was not installed when nearfar was built: install it and build again");
    }
    names.push_back(kind->name);
  }
  throw BadArgument("there is no kind '" + name + "'" + nearest(name, names));
}

std::uint64_t whole_number(const std::string& text, const char* what) {
  Arguments arguments({{what, text, ""}}, {});
  return arguments.count(what);
}

void act(const std::vector<std::string>& words) {
  const std::string verb = words.empty() ? "" : words[0];
  if (verb == "list" && words.size() == 1) return list();
  if (verb == "run" && words.size() >= 2) {
    return run(kind_named(words[1]), {words.begin() + 2, words.end()});
  }
  if (verb == "turns" && words.size() >= 2) {
    return run_turns(kind_named(words[1]), {words.begin() + 2, words.end()});
  }
  if (verb == "check" && words.size() == 3) {
    const Kind& kind = kind_named(words[1]);
    if (!kind.check) throw BadArgument(kind.name + " has no pool to check");
    return kind.check(words[2]);
  }
  if (verb == "dump" && words.size() == 3) {
    const Kind& kind = kind_named(words[1]);
    if (!kind.dump) throw BadArgument(kind.name + " has no keys to print");
    return kind.dump(words[2]);
  }
  if (verb == "drive" && words.size() == 5) {
    const Kind& kind = kind_named(words[1]);
    if (!kind.drive) throw BadArgument(kind.name + " has no pool to drive");
    return kind.drive(words[2], whole_number(words[3], "OPERATIONS"),
                      whole_number(words[4], "SEED"));
  }
  throw BadArgument(usage);
}

}  // namespace
}  // namespace nearfar::bench

int main(int count, char** words) {
  using namespace nearfar::bench;
  try {
    act({words + 1, words + count});
    return std::fflush(stdout) == 0 ? 0 : 3;
  } catch (const Failure& failure) {
    std::fprintf(stderr, "nearfar-bench: %s\n", failure.what());
    return failure.exit_code;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "nearfar-bench: not enough memory; reduce the workload's size\n");
    return 3;
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "nearfar-bench: system error: %s\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nearfar-bench: internal error: %s\n", error.what());
    return 4;
  }
}
