// nearfar-bench: runs one workload once, or checks or drives a pool. README.md has the contract.
#include <cstdio>
#include <exception>
#include <system_error>

#include "bench/json.hpp"
#include "bench/kind.hpp"

namespace nearfar::bench {
namespace {

constexpr const char* usage =
    "say list; run KIND key=value ...; check KIND POOL; dump KIND POOL; or drive KIND POOL "
    "OPERATIONS SEED";

void list() {
  Json json;
  json.open('[');
  for (const Kind* kind : kinds()) {
    json.open('{').pair("name", kind->name).pair("summary", kind->summary);
    json.pair("needs", kind->needs);
    json.key("parameters").open('[');
    for (const Parameter& each : kind->parameters) {
      json.open('{').pair("name", each.name).pair("default", each.fallback);
      json.pair("meaning", each.meaning).close('}');
    }
    json.close(']').close('}');
  }
  json.close(']');
  std::puts(json.text().c_str());
}

const Kind& kind_called(const std::string& name) {
  std::vector<std::string> names;
  for (const Kind* kind : kinds()) {
    if (kind->name == name) {
      if (kind->needs.empty()) return *kind;
      throw MachineLacks(
          name + " needs " + kind->needs +
          ", which was not there when nearfar was built: install it and build again");
    }
    names.push_back(kind->name);
  }
  throw BadArgument("there is no kind '" + name + "'" + nearest(name, names));
}

void put_latency(Json& json, const Histogram& latency) {
  json.key("latency_ns").open('{');
  json.pair("p50", latency.quantile(0.5).count).pair("p90", latency.quantile(0.9).count);
  json.pair("p99", latency.quantile(0.99).count).pair("p99_9", latency.quantile(0.999).count);
  json.pair("max", latency.greatest().count).pair("mean", latency.mean().count);
  json.pair("samples", latency.samples()).close('}');
}

void put_counts(Json& json, const Counts& counts) {
  json.key("counts").open('{');
  json.pair("transactions", counts.transactions).pair("snapshots", counts.snapshots);
  json.pair("snapshot_bytes", counts.snapshot_bytes).pair("allocations", counts.allocations);
  json.pair("frees", counts.frees).pair("publications", counts.publications);
  json.pair("flush_calls", counts.flush_calls).pair("flushed_lines", counts.flushed_lines);
  json.pair("copied_lines", counts.copied_lines).pair("fences", counts.fences);
  json.pair("msyncs", counts.msyncs).close('}');
}

void run(const std::string& name, const std::vector<std::string>& words) {
  const Kind& kind = kind_called(name);
  Arguments arguments(kind.parameters, words);
  const std::string mode = arguments.text("mode", {"time", "latency", "count"});
  if (mode == "count" && nearfar_bench_count_begin == nullptr) {
    throw BadArgument("mode=count needs libnearfar_bench_count.so in LD_PRELOAD");
  }
  Meter meter(mode == "time"      ? Mode::time
              : mode == "latency" ? Mode::latency
                                  : Mode::count,
              arguments.count("seed"));
  const std::unique_ptr<Workload> workload = kind.make(arguments);
  if (const std::vector<std::string> unread = arguments.unread(); !unread.empty()) {
    throw std::logic_error(name + " declares " + unread.front() + " and does not read it");
  }
  workload->set_up();
  workload->warm_up();
  workload->run(meter);
  const Durability durability = workload->durability();
  Json json;
  json.open('{').pair("kind", kind.name).key("arguments").open('{');
  for (const auto& [key, text] : arguments.all()) json.pair(key, text);
  json.close('}').pair("operations", meter.operations).pair("wall_ns", meter.wall.count);
  json.pair("cpu_ns", meter.cpu.count).pair("system_ns", meter.kernel.count);
  json.pair("minor_faults", meter.minor_faults).pair("major_faults", meter.major_faults);
  json.pair("context_switches", meter.context_switches);
  if (meter.mode() == Mode::latency) put_latency(json, meter.latency);
  if (meter.counted) put_counts(json, meter.counts);
  json.key("durability").open('{').pair("instructions", durability.instructions);
  json.pair("survives", durability.survives).close('}');
  json.key("notes").open('{');
  for (const auto& [key, figure] : meter.notes) json.pair(key, figure);
  json.close('}').key("words").open('{');
  for (const auto& [key, text] : meter.words) json.pair(key, text);
  json.close('}').key("verified").open('[');
  workload->verify();
  json.value("after the run");
  if (workload->reopen()) {
    workload->verify();
    json.value("after reopening");
  }
  json.close(']').close('}');
  std::puts(json.text().c_str());
}

std::uint64_t whole_number(const std::string& text, const char* what) {
  Arguments one({{what, text, ""}}, {});
  return one.count(what);
}

void act(const std::vector<std::string>& words) {
  const std::string verb = words.empty() ? "" : words[0];
  if (verb == "list" && words.size() == 1) return list();
  if (verb == "run" && words.size() >= 2) {
    return run(words[1], {words.begin() + 2, words.end()});
  }
  if (verb == "check" && words.size() == 3) {
    const Kind& kind = kind_called(words[1]);
    if (!kind.check) throw BadArgument(kind.name + " keeps no pool that could be checked");
    return kind.check(words[2]);
  }
  if (verb == "dump" && words.size() == 3) {
    const Kind& kind = kind_called(words[1]);
    if (!kind.dump) throw BadArgument(kind.name + " keeps no keys that could be printed");
    return kind.dump(words[2]);
  }
  if (verb == "drive" && words.size() == 5) {
    const Kind& kind = kind_called(words[1]);
    if (!kind.drive) throw BadArgument(kind.name + " keeps no pool that could be driven");
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
    std::fprintf(stderr, "nearfar-bench: there is not enough memory for this; make it smaller\n");
    return 3;
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "nearfar-bench: the system refused: %s\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nearfar-bench: a mistake of nearfar's own: %s\n", error.what());
    return 4;
  }
}
