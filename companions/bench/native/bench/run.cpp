#include "bench/run.hpp"

#include <cstdio>
#include <iostream>
#include <sstream>

#include "bench/json.hpp"
#include "bench/unsynced.hpp"

namespace nearfar::bench {
namespace {

void put_latency(Json& json, const Histogram& latency) {
  json.key("latency_ns").open('{');
  json.pair("p50", latency.quantile(0.5).count).pair("p90", latency.quantile(0.9).count);
  json.pair("p99", latency.quantile(0.99).count).pair("p99_9", latency.quantile(0.999).count);
  json.pair("max", latency.max().count).pair("mean", latency.mean().count);
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

// A workload that is set up and warmed up.
class Prepared {
 public:
  Prepared(const Kind& kind, const std::vector<std::string>& words)
      : kind_(kind), arguments_(kind.parameters, words) {
    const std::string mode = arguments_.text("mode", {"time", "latency", "count"});
    if (mode == "count" && nearfar_bench_count_begin == nullptr) {
      throw BadArgument("mode=count needs libnearfar_bench_count.so in LD_PRELOAD");
    }
    mode_ = mode == "time" ? Mode::time : mode == "latency" ? Mode::latency : Mode::count;
    seed_ = arguments_.count("seed");
    workload_ = kind.make(arguments_);
    if (const std::vector<std::string> unread = arguments_.unread(); !unread.empty()) {
      throw std::logic_error(kind.name + " declares " + unread.front() + " but does not read it");
    }
    Unsynced pool(arguments_.text("pool"));
    workload_->set_up();
    workload_->warm_up();
    pool.sync();
  }

  [[nodiscard]] Workload& workload() const { return *workload_; }
  [[nodiscard]] Meter meter() const { return {mode_, seed_}; }

  // Returns the results; the caller closes the JSON object.
  [[nodiscard]] Json result(const Meter& meter) const {
    const Durability durability = workload_->durability();
    Json json;
    json.open('{').pair("kind", kind_.name).key("arguments").open('{');
    for (const auto& [key, text] : arguments_.all()) json.pair(key, text);
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
    json.close('}');
    return json;
  }

  void put_verified(Json& json) const {
    json.key("verified").open('[');
    workload_->verify();
    json.value("after the run");
    if (workload_->reopen()) {
      workload_->verify();
      json.value("after reopening");
    }
    json.close(']').close('}');
  }

 private:
  const Kind& kind_;
  Arguments arguments_;
  Mode mode_ = Mode::time;
  std::uint64_t seed_ = 0;
  std::unique_ptr<Workload> workload_;
};

}  // namespace

void run(const Kind& kind, const std::vector<std::string>& words) {
  const Prepared prepared(kind, words);
  Meter meter = prepared.meter();
  prepared.workload().run(meter);
  Json json = prepared.result(meter);
  prepared.put_verified(json);
  std::puts(json.text().c_str());
}

void run_turns(const Kind& kind, const std::vector<std::string>& words) {
  const Prepared prepared(kind, words);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream fields(line);
    std::string operation;
    std::uint64_t count = 0;
    if (!(fields >> operation >> count) || count == 0) {
      throw BadArgument("expected OPERATION COUNT, not '" + line + "'");
    }
    Meter meter = prepared.meter();
    prepared.workload().turn(operation, count, meter);
    Json json = prepared.result(meter);
    std::puts(json.close('}').text().c_str());
    std::fflush(stdout);
  }
  Json json;
  json.open('{');
  prepared.put_verified(json);
  std::puts(json.text().c_str());
}

}  // namespace nearfar::bench
