// The rows of a fleet's objects, from the JSON of workload profiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/typed_json.hpp"

namespace nearfar::fleet {

// What a fleet needs of a profile besides its objects.
struct Head {
  std::string host;
  std::string time_utc;
  std::string command;
  std::string cpu_model;
  std::string executable;
  double near_ns = 0;
  std::int64_t bytes = 0;
  std::int64_t objects = 0;
};

// One entry for each object.
struct ObjectColumns {
  std::string names;
  std::vector<std::int64_t> name_begins{0};  // One more than objects.
  std::vector<std::int64_t> bytes;
  std::vector<double> chase;
  std::vector<double> independent;
  std::vector<double> stream;
  std::vector<double> write_back;
};

class ProfileRows {
 public:
  // `types`: of a workload profile. Throws std::invalid_argument if they lack a field that is used.
  ProfileRows(std::vector<Type> types, std::string kind, std::int64_t version, double most,
              std::int64_t most_bytes);

  // Adds a profile's objects. Returns nothing, and adds nothing, unless it certainly is valid and
  // has at most `most_bytes` of data; see `Reader::read`.
  std::optional<Head> add(std::string_view json, bool plain);

  const ObjectColumns& columns() const { return columns_; }

 private:
  // Where a record's fields are.
  struct Fields {
    explicit Fields(const std::vector<Type>& types);
    std::size_t kind, version, producer, host, time_utc, command, cpu_model, program, executable;
    std::size_t size, curve_bytes, page_curve_bytes, objects, instructions, phases, checks;
    std::size_t id, name, size_bytes;
    std::size_t phase_name, near_time, value, low, high, phase_rows, phase_instructions;
    std::size_t row_object, traffic, curve, page_curve, ranges;
    std::size_t read_misses, write_misses, read_sequential, write_backs;
    std::size_t chase, indirect, stream, opaque;
    std::size_t curve_read, curve_write, faults, written;
    std::size_t range_reads, range_writes, range_write_backs, second_half;
    std::size_t instruction, instruction_object, check_rows;
  };

  bool is_consistent(const Value& profile);
  bool is_consistent_phase(const Value& profile, const Value& phase);
  bool are_consistent_rows(const Value& profile, const Value& rows);
  bool are_consistent_curves(const Value& profile, const Value& row) const;
  bool are_consistent_ranges(const Value& ranges) const;
  void append(const Value& profile);

  Reader reader_;
  Fields fields_;
  std::string kind_;
  std::int64_t version_;
  double most_;
  std::int64_t most_bytes_;
  ObjectColumns columns_;
  // For each object of a profile: the last list of rows that had a row of it.
  std::vector<std::uint64_t> seen_in_;
  std::uint64_t lists_ = 0;
};

}  // namespace nearfar::fleet
