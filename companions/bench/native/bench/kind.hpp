// Kinds of workloads and their registration. README.md explains how to add one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/durability.hpp"
#include "bench/errors.hpp"
#include "bench/meter.hpp"

namespace nearfar::bench {

class Workload {
 public:
  Workload() = default;
  virtual ~Workload() = default;
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  virtual void set_up() = 0;  // not timed or counted
  virtual void warm_up() {}   // not timed or counted
  virtual void run(Meter& meter) = 0;
  // Part of a run that is requested in turns.
  virtual void turn(const std::string& /*operation*/, std::uint64_t /*count*/, Meter& /*meter*/) {
    throw BadArgument("this kind does not support turns");
  }
  virtual void verify() = 0;  // throws WrongContent
  // Closes and reopens content that survives the process; false if there is none.
  virtual bool reopen() { return false; }
  [[nodiscard]] virtual Durability durability() const { return {}; }
};

struct Kind {
  std::string name;
  std::string summary;
  std::vector<Parameter> parameters;
  std::function<std::unique_ptr<Workload>(Arguments&)> make;
  std::string needs = {};  // missing library, without which the kind cannot run
  // Opens the pool, recovers and verifies it; throws WrongContent. Null: the kind keeps no pool.
  std::function<void(const std::string& pool)> check = {};
  // Prints "key value" for each key, then tests whether the pool still works; throws WrongContent.
  std::function<void(const std::string& pool)> dump = {};
  // Creates the pool if it is absent and runs `operations` random operations, marked for nearfar
  // crash.
  std::function<void(const std::string& pool, std::uint64_t operations, std::uint64_t seed)> drive =
      {};
};

std::vector<const Kind*> kinds();  // by name

struct Registered {
  explicit Registered(Kind kind);
};

}  // namespace nearfar::bench
