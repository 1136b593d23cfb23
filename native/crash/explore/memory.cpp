#include "crash/explore/memory.hpp"

#include <string.h>

#include <algorithm>

#include "crash/explore/hash.hpp"

namespace nearfar::crash {

namespace {

// libpmemobj keeps fields of the running process in a pool's first 8 KiB (header and descriptor).
// It never flushes them, and sets them when it opens the pool.
constexpr std::uint64_t run_time_bytes = 8192;
constexpr char pmemobj_signature[] = "PMEMOBJ";

}  // namespace

void Memory::restart() {
  image_.clear();
  key_ = 0;
  lines_.clear();
  pending_.clear();
  in_flight.clear();
  done = begun = -1;
  history = 0;
}

void Memory::feed(const Event& event, std::uint64_t point) {
  const nf_crash_record& record = *event.record;
  switch (record.kind) {
    case NF_CRASH_STORE:
      if (eadr_) {
        set_line(record.a, event.payload);
      } else {
        store(event, point);
      }
      break;
    case NF_CRASH_FLUSH:
    case NF_CRASH_STREAM:
      flush(record.a, record.b, record.thread);
      break;
    case NF_CRASH_FENCE:
      fence(record);
      break;
    case NF_CRASH_BASE:
      set_page(record.a, event.payload, record.bytes);
      break;
    case NF_CRASH_BEGIN:
    case NF_CRASH_END:
    case NF_CRASH_OPERATION:
    case NF_CRASH_OUTCOME:
      track_operation(event);
      break;
    default:
      break;
  }
}

void Memory::track_operation(const Event& event) {
  const nf_crash_record& record = *event.record;
  history += 1;
  if (record.kind == NF_CRASH_OPERATION || record.kind == NF_CRASH_OUTCOME) return;
  if (record.thread >= in_flight.size()) in_flight.resize(record.thread + std::size_t{1}, -1);
  const auto operation = static_cast<long>(record.a);
  (record.kind == NF_CRASH_BEGIN ? begun : done) = operation;
  in_flight[record.thread] = record.kind == NF_CRASH_BEGIN ? operation : -1;
}

void Memory::store(const Event& event, std::uint64_t point) {
  const std::uint64_t offset = event.record->a;
  const auto [at, is_new] = lines_.try_emplace(offset);
  Line& line = at->second;
  if (is_new) {
    line.durable_hash = line_hash(offset, image_.durable(offset));
    // Greater than any number in a pending flush of an earlier line at this offset.
    line.first = highest_;
  }
  line.point = point;
  line.stores.push_back({event.payload, event.at, line_hash(offset, event.payload)});
}

void Memory::flush(std::uint64_t begin, std::uint64_t bytes, std::uint32_t thread) {
  const std::uint64_t end = begin + bytes < begin ? UINT64_MAX : begin + bytes;
  auto at = lines_.lower_bound(begin / NF_CRASH_LINE * NF_CRASH_LINE);
  for (; at != lines_.end() && at->first < end; ++at) flush_line(at->first, at->second, thread);
}

void Memory::flush_line(std::uint64_t offset, Line& line, std::uint32_t thread) {
  const std::uint64_t end = line.first + line.stores.size();
  line.flushed = end;
  highest_ = std::max(highest_, end);
  pending_[thread].push_back({offset, end});
}

void Memory::fence(const nf_crash_record& record) {
  auto& pending_flushes = pending_[record.thread];
  const auto is_left = [&](const Pending& pending) {
    return record.b != 0 && pending.offset - record.a >= record.b;
  };
  for (const Pending& pending : pending_flushes) {
    if (is_left(pending)) continue;
    const auto at = lines_.find(pending.offset);
    if (at == lines_.end() || at->second.first >= pending.end) continue;
    Line& line = at->second;
    const auto count = static_cast<std::ptrdiff_t>(pending.end - line.first);
    const Store last = line.stores[static_cast<std::size_t>(count) - 1];
    key_ ^= line.durable_hash ^ last.hash;
    line.durable_hash = last.hash;
    image_.set(pending.offset, last.content);
    line.stores.erase(line.stores.begin(), line.stores.begin() + count);
    line.first = pending.end;
    if (line.stores.empty()) lines_.erase(at);
  }
  std::erase_if(pending_flushes, [&](const Pending& pending) { return !is_left(pending); });
}

void Memory::set_line(std::uint64_t offset, const char* content) {
  const char* const old = image_.durable(offset);
  if (memcmp(old, content, NF_CRASH_LINE) == 0) return;
  key_ ^= line_hash(offset, old) ^ line_hash(offset, content);
  image_.set(offset, content);
}

void Memory::set_page(std::uint64_t begin, const char* content, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += NF_CRASH_LINE) {
    lines_.erase(begin + at);
    set_line(begin + at, content + at);
  }
}

std::vector<Candidate> Memory::candidates() const {
  const bool pmemobj =
      memcmp(image_.durable(0), pmemobj_signature, sizeof pmemobj_signature - 1) == 0;
  std::vector<Candidate> candidates;
  for (const auto& [offset, line] : lines_) {
    if (!pmemobj || offset >= run_time_bytes || line.flushed_count() != 0) {
      candidates.push_back({offset, &line});
    }
  }
  return candidates;
}

const Line* Memory::line(std::uint64_t offset) const {
  const auto at = lines_.find(offset);
  return at == lines_.end() ? nullptr : &at->second;
}

std::uint64_t Memory::key_of(const State& state) const {
  std::uint64_t key = key_;
  for (const InState& written : state) {
    const Line& line = lines_.find(written.offset)->second;
    key ^= line.durable_hash ^ line.stores[written.stores - 1].hash;
  }
  return key;
}

}  // namespace nearfar::crash
