#include "fleet/profile_rows.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace nearfar::fleet {

namespace {

// Returns the index of a field that is named by its path from the document on.
std::size_t place(const std::vector<Type>& types, std::string_view path) {
  const Type* type = &types.front();
  for (;;) {
    while (type->kind == Kind::list) type = &types[type->inner];
    const std::size_t dot = path.find('.');
    const std::string key = std::string(path.substr(0, dot)) + '"';
    const auto found = std::find_if(type->fields.begin(), type->fields.end(),
                                    [&](const Field& field) { return field.key == key; });
    if (found == type->fields.end()) {
      throw std::invalid_argument("a profile has no field " + std::string(path));
    }
    if (dot == std::string_view::npos) {
      return static_cast<std::size_t>(found - type->fields.begin());
    }
    path.remove_prefix(dot + 1);
    type = &types[found->type];
  }
}

bool is_given(const Value& value) { return value.state == State::given; }

}  // namespace

ProfileRows::Fields::Fields(const std::vector<Type>& types) {
  const auto at = [&](std::string_view path) { return place(types, path); };
  kind = at("kind");
  version = at("version");
  producer = at("producer");
  host = at("producer.host");
  time_utc = at("producer.time_utc");
  command = at("producer.command");
  cpu_model = at("producer.cpu_model");
  program = at("program");
  executable = at("program.executable");
  size = at("size");
  curve_bytes = at("curve_bytes");
  page_curve_bytes = at("page_curve_bytes");
  objects = at("objects");
  id = at("objects.id");
  name = at("objects.name");
  size_bytes = at("objects.size_bytes");
  instructions = at("instructions");
  phases = at("phases");
  phase_name = at("phases.name");
  near_time = at("phases.near_cpu_time_ns");
  value = at("phases.near_cpu_time_ns.value");
  low = at("phases.near_cpu_time_ns.low");
  high = at("phases.near_cpu_time_ns.high");
  phase_rows = at("phases.objects");
  row_object = at("phases.objects.object");
  traffic = at("phases.objects.traffic");
  read_misses = at("phases.objects.traffic.read_misses");
  write_misses = at("phases.objects.traffic.write_misses");
  read_sequential = at("phases.objects.traffic.read_sequential");
  write_backs = at("phases.objects.traffic.write_backs");
  chase = at("phases.objects.traffic.read_misses.chase");
  indirect = at("phases.objects.traffic.read_misses.indirect");
  stream = at("phases.objects.traffic.read_misses.stream");
  opaque = at("phases.objects.traffic.read_misses.opaque");
  curve = at("phases.objects.curve");
  curve_read = at("phases.objects.curve.read");
  curve_write = at("phases.objects.curve.write");
  page_curve = at("phases.objects.page_curve");
  faults = at("phases.objects.page_curve.faults");
  written = at("phases.objects.page_curve.written");
  ranges = at("phases.objects.ranges");
  range_reads = at("phases.objects.ranges.read_misses");
  range_writes = at("phases.objects.ranges.write_misses");
  range_write_backs = at("phases.objects.ranges.write_backs");
  second_half = at("phases.objects.ranges.second_half");
  phase_instructions = at("phases.instructions");
  instruction = at("phases.instructions.instruction");
  instruction_object = at("phases.instructions.object");
  checks = at("checks");
  check_rows = at("checks.objects");
}

ProfileRows::ProfileRows(std::vector<Type> types, std::string kind, std::int64_t version,
                         double most, std::int64_t most_bytes)
    : reader_(std::move(types)),
      fields_(reader_.types()),
      kind_(std::move(kind)),
      version_(version),
      most_(most),
      most_bytes_(most_bytes) {}

std::optional<Head> ProfileRows::add(std::string_view json, bool plain) {
  const Value* document = reader_.read(json, plain);
  if (document == nullptr || !is_consistent(*document)) return std::nullopt;
  const Value& profile = *document;
  const Value& producer = profile[fields_.producer];
  Head head;
  for (const Value& object : profile[fields_.objects]) {
    if (object[fields_.size_bytes].whole > most_bytes_ - head.bytes) return std::nullopt;
    head.bytes += object[fields_.size_bytes].whole;
  }
  for (const Value& phase : profile[fields_.phases]) {
    head.near_ns += phase[fields_.near_time][fields_.value].number;
  }
  head.host = unescaped(producer[fields_.host]);
  head.time_utc = unescaped(producer[fields_.time_utc]);
  head.command = unescaped(producer[fields_.command]);
  head.cpu_model = unescaped(producer[fields_.cpu_model]);
  head.executable = unescaped(profile[fields_.program][fields_.executable]);
  head.objects = profile[fields_.objects].count;
  append(profile);
  return head;
}

// The rules of `WorkloadProfile.contradiction`.
bool ProfileRows::is_consistent(const Value& profile) {
  const Value& kind = profile[fields_.kind];
  if (!is_given(kind) || kind.text() != kind_ || !is_given(profile[fields_.version]) ||
      profile[fields_.version].whole != version_) {
    return false;
  }
  std::int64_t id = 0;
  for (const Value& object : profile[fields_.objects]) {
    if (object[fields_.id].whole != id++) return false;
  }
  const Value& sizes = profile[fields_.curve_bytes];
  if (std::adjacent_find(sizes.begin(), sizes.end(), [](const Value& a, const Value& b) {
        return b.number <= a.number;
      }) != sizes.end()) {
    return false;
  }
  for (const Value& size : profile[fields_.size]) {
    if (size.number > most_) return false;
  }
  std::vector<std::string_view> names;
  for (const Value& phase : profile[fields_.phases]) {
    names.push_back(phase[fields_.phase_name].text());
  }
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) return false;
  for (const Value& phase : profile[fields_.phases]) {
    if (!is_consistent_phase(profile, phase)) return false;
  }
  for (const Value& check : profile[fields_.checks]) {
    if (!are_consistent_rows(profile, check[fields_.check_rows])) return false;
  }
  return true;
}

bool ProfileRows::is_consistent_phase(const Value& profile, const Value& phase) {
  const Value& time = phase[fields_.near_time];
  const double low = time[fields_.low].number;
  const double middle = time[fields_.value].number;
  const double high = time[fields_.high].number;
  if (low < 0 || low > middle || middle > high || high > most_) return false;
  for (const Value& row : phase[fields_.phase_instructions]) {
    if (row[fields_.instruction_object].whole >= profile[fields_.objects].count ||
        row[fields_.instruction].whole >= profile[fields_.instructions].count) {
      return false;
    }
  }
  return are_consistent_rows(profile, phase[fields_.phase_rows]);
}

bool ProfileRows::are_consistent_rows(const Value& profile, const Value& rows) {
  ++lists_;
  const std::size_t count = profile[fields_.objects].count;
  seen_in_.resize(std::max(seen_in_.size(), count));
  for (const Value& row : rows) {
    const auto object = static_cast<std::size_t>(row[fields_.row_object].whole);
    if (object >= count || seen_in_[object] == lists_) return false;
    seen_in_[object] = lists_;
    if (!are_consistent_curves(profile, row)) return false;
    const Value& ranges = row[fields_.ranges];
    if (is_given(ranges) && !are_consistent_ranges(ranges)) return false;
  }
  return true;
}

bool ProfileRows::are_consistent_curves(const Value& profile, const Value& row) const {
  const Value& curve = row[fields_.curve];
  const std::uint32_t points = profile[fields_.curve_bytes].count;
  if (is_given(curve) &&
      (curve[fields_.curve_read].count != points || curve[fields_.curve_write].count != points)) {
    return false;
  }
  const Value& pages = row[fields_.page_curve];
  const std::uint32_t page_points = profile[fields_.page_curve_bytes].count;
  return !is_given(pages) || (pages[fields_.faults].count == page_points &&
                              pages[fields_.written].count == page_points);
}

bool ProfileRows::are_consistent_ranges(const Value& ranges) const {
  const Value& reads = ranges[fields_.range_reads];
  const Value& writes = ranges[fields_.range_writes];
  const Value& write_backs = ranges[fields_.range_write_backs];
  const Value& halves = ranges[fields_.second_half];
  if (reads.count != halves.count || writes.count != halves.count ||
      write_backs.count != halves.count) {
    return false;
  }
  for (std::uint32_t i = 0; i < halves.count; ++i) {
    const double lines = reads[i].number + writes[i].number + write_backs[i].number;
    if (halves[i].number > 1.000001 * lines) return false;
  }
  return true;
}

void ProfileRows::append(const Value& profile) {
  ObjectColumns& to = columns_;
  const std::size_t first = to.bytes.size();
  for (const Value& object : profile[fields_.objects]) {
    const Value& name = object[fields_.name];
    to.names += name.escaped ? unescaped(name) : name.text();
    to.name_begins.push_back(static_cast<std::int64_t>(to.names.size()));
    to.bytes.push_back(object[fields_.size_bytes].whole);
  }
  for (std::vector<double>* column : {&to.chase, &to.independent, &to.stream, &to.write_back}) {
    column->resize(to.bytes.size());
  }
  // An absent count is 0.
  const auto count = [](const Value& classes, std::size_t index) {
    return is_given(classes) ? classes[index].number : 0.0;
  };
  for (const Value& phase : profile[fields_.phases]) {
    for (const Value& row : phase[fields_.phase_rows]) {
      const Value& traffic = row[fields_.traffic];
      const Value& read = traffic[fields_.read_misses];
      const Value& write = traffic[fields_.write_misses];
      const Value& followed = traffic[fields_.read_sequential];
      const double chase = count(read, fields_.chase);
      const double indirect = count(read, fields_.indirect);
      const double opaque = count(read, fields_.opaque);
      const double chased = chase - count(followed, fields_.chase);
      const double independent =
          indirect - count(followed, fields_.indirect) + opaque - count(followed, fields_.opaque);
      // Loads that a prefetcher follows and stores that wait in a buffer cost bandwidth only.
      double streamed =
          chase + indirect + count(read, fields_.stream) + opaque - chased - independent;
      streamed += count(write, fields_.chase) + count(write, fields_.indirect) +
                  count(write, fields_.stream) + count(write, fields_.opaque);
      const std::size_t object = first + static_cast<std::size_t>(row[fields_.row_object].whole);
      to.chase[object] += chased;
      to.independent[object] += independent;
      to.stream[object] += streamed;
      to.write_back[object] += traffic[fields_.write_backs].number;
    }
  }
}

}  // namespace nearfar::fleet
