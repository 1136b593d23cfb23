// What a kind of workload is, and how it registers itself. README.md says how to add one.
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

  virtual void set_up() = 0;  // neither timed nor counted
  virtual void warm_up() {}   // likewise
  virtual void run(Meter& meter) = 0;
  // Part of a run that is asked for piece by piece.
  virtual void turn(const std::string& /*operation*/, std::uint64_t /*count*/, Meter& /*meter*/) {
    throw BadArgument("this kind takes no turns");
  }
  virtual void verify() = 0;  // throws WrongContent
  // Closes and opens what would survive the process; false where nothing would.
  virtual bool reopen() { return false; }
  [[nodiscard]] virtual Durability durability() const { return {}; }
};

struct Kind {
  std::string name;
  std::string summary;
  std::vector<Parameter> parameters;
  std::function<std::unique_ptr<Workload>(Arguments&)> make;
  std::string needs = {};  // a library that the build did not find; such a kind cannot run
  // Opens the pool, lets it recover, walks it; throws WrongContent. Null: it keeps none.
  std::function<void(const std::string& pool)> check = {};
  // Prints "key value" for each key, then tries whether it still works; throws WrongContent.
  std::function<void(const std::string& pool)> dump = {};
  // Makes the pool if it is absent and does `operations` random ones, marked for nearfar crash.
  std::function<void(const std::string& pool, std::uint64_t operations, std::uint64_t seed)> drive =
      {};
};

std::vector<const Kind*> kinds();  // by name

struct Registered {
  explicit Registered(Kind kind);
};

}  // namespace nearfar::bench
