// Memories of maps, so that one algorithm is volatile or persistent.
//
//  - Ref<T>: a T in that memory: an address (volatile) or an offset in the pool.
//  - at(ref): its T; valid until the pool is closed.
//  - change(f): runs f atomically; nested changes belong to the outer one.
//  - make(bytes): allocates a new object, uninitialised, in the change. drop(ref, bytes) frees it.
//  - touch(object): announces a write to an old object (not for Published).
//  - set(field, value): writes words of an old object; Published writes them at the change's end.
//  - persist_new(object, n): announces that a new object is complete.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bench/errors.hpp"
#include "bench/pool.hpp"

namespace nearfar::bench {

template <typename T>
struct Ref {
  std::uint64_t where = 0;
  explicit operator bool() const { return where != 0; }
  friend bool operator==(Ref, Ref) = default;
};

class Volatile {
 public:
  template <typename T>
  T* at(Ref<T> ref) const {
    return reinterpret_cast<T*>(ref.where);
  }
  template <typename F>
  void change(F&& f) {
    f();
  }
  template <typename T>
  Ref<T> make(std::size_t bytes = sizeof(T)) {
    return {reinterpret_cast<std::uint64_t>(::operator new(bytes))};
  }
  template <typename T>
  void drop(Ref<T> ref, std::size_t = sizeof(T)) {
    ::operator delete(at(ref));
  }
  template <typename T>
  void touch(T*, std::size_t = sizeof(T)) {}
  template <typename T>
  void set(T& field, T value) {
    field = value;
  }
  void persist_new(const void*, std::size_t) {}
};

#ifdef NEARFAR_HAVE_PMEM

// Throws after a failed call of libpmemobj.
[[noreturn]] inline void full(const std::string& reason = pmemobj_errormsg()) {
  throw MachineError("the pool has no room for this: " + reason + "; increase pool_bytes");
}

class InPool {
 public:
  explicit InPool(const ObjectPool& pool) : pool_(pool.handle()), base_(pool.base()) {}

  template <typename T>
  T* at(Ref<T> ref) const {
    return reinterpret_cast<T*>(base_ + ref.where);
  }

 protected:
  PMEMobjpool* pool_;
  std::byte* base_;
  bool inside_ = false;  // within a change
};

// A pool with transactions: old content is snapshotted before it changes.
class Transactional : public InPool {
 public:
  using InPool::InPool;

  template <typename F>
  void change(F&& f) {
    if (inside_) return f();
    begin();
    try {
      f();
    } catch (...) {
      abort();
      throw;
    }
    commit();
  }

  template <typename T>
  Ref<T> make(std::size_t bytes = sizeof(T)) {
    // Flushed at the end of the transaction: persist_new() has nothing to do.
    const PMEMoid made = pmemobj_tx_alloc(bytes, 1);
    if (OID_IS_NULL(made)) full();
    const Ref<T> ref{made.off};
    known_.push_back(at(ref));
    return ref;
  }
  template <typename T>
  void drop(Ref<T> ref, std::size_t = sizeof(T)) {
    if (pmemobj_tx_free(oid(ref.where)) != 0) full();
  }
  // An object is snapshotted once per change, a new one never.
  template <typename T>
  void touch(T* object, std::size_t bytes = sizeof(T)) {
    if (std::find(known_.begin(), known_.end(), object) != known_.end()) return;
    known_.push_back(object);
    snapshot(object, bytes);
  }
  template <typename T>
  void set(T& field, T value) {
    snapshot(&field, sizeof field);
    field = value;
  }
  void persist_new(const void*, std::size_t) {}

 private:
  PMEMoid oid(std::uint64_t offset) const { return pmemobj_oid(base_ + offset); }
  void snapshot(const void* from, std::size_t bytes) {
    if (pmemobj_tx_add_range_direct(from, bytes) != 0) full();
  }
  void begin() {
    if (pmemobj_tx_begin(pool_, nullptr, TX_PARAM_NONE) != 0) {
      pmemobj_tx_end();
      full();
    }
    inside_ = true;
    known_.clear();
  }
  void commit() {
    pmemobj_tx_commit();
    inside_ = false;
    if (pmemobj_tx_end() != 0) full();
  }
  void abort() {
    if (pmemobj_tx_stage() == TX_STAGE_WORK) pmemobj_tx_abort(ECANCELED);
    inside_ = false;
    pmemobj_tx_end();
  }
  std::vector<const void*> known_;  // new or snapshotted in this change
};

// A pool without transactions: new objects are reserved and written first; then one redo log
// allocates them, writes words of old ones and frees, atomically.
class Published : public InPool {
 public:
  using InPool::InPool;

  template <typename F>
  void change(F&& f) {
    if (inside_) return f();
    inside_ = true;
    flushed_ = false;
    actions_.clear();
    try {
      f();
    } catch (...) {
      pmemobj_cancel(pool_, actions_.data(), actions_.size());
      inside_ = false;
      throw;
    }
    inside_ = false;
    if (actions_.empty()) return;
    // Published objects must be durable before they are reachable.
    if (flushed_) pmemobj_drain(pool_);
    if (pmemobj_publish(pool_, actions_.data(), actions_.size()) == 0) return;
    const std::string reason = pmemobj_errormsg();
    pmemobj_cancel(pool_, actions_.data(), actions_.size());
    full(reason);
  }

  template <typename T>
  Ref<T> make(std::size_t bytes = sizeof(T)) {
    const PMEMoid made = pmemobj_reserve(pool_, &actions_.emplace_back(), bytes, 1);
    if (OID_IS_NULL(made)) {
      actions_.pop_back();
      full();
    }
    return {made.off};
  }
  template <typename T>
  void drop(Ref<T> ref, std::size_t = sizeof(T)) {
    pmemobj_defer_free(pool_, pmemobj_oid(base_ + ref.where), &actions_.emplace_back());
  }
  template <typename T>
  void set(T& field, T value) {
    constexpr std::size_t bytes = sizeof(std::uint64_t);
    static_assert(sizeof(T) % bytes == 0);
    auto* destination = reinterpret_cast<std::byte*>(&field);
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    for (std::size_t at = 0; at < sizeof(T); at += bytes) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + at, bytes);
      pmemobj_set_value(pool_, &actions_.emplace_back(),
                        reinterpret_cast<std::uint64_t*>(destination + at), word);
    }
  }
  void persist_new(const void* object, std::size_t bytes) {
    pmemobj_flush(pool_, object, bytes);
    flushed_ = true;
  }

 private:
  bool flushed_ = false;  // flushed since the last fence
  std::vector<pobj_action> actions_;
};

#endif

}  // namespace nearfar::bench
