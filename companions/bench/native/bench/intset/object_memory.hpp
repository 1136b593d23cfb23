// A libpmemobj pool as the memory of a set.
//
// Transactions begin without a jump buffer: a failed call only ends the transaction's work stage,
// and then an exception is thrown, so that destructors run.
#pragma once

#include <libpmemobj.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "bench/errors.hpp"

namespace nearfar::bench {

// References between nodes. `Pmemoid`: libpmemobj's 16 bytes, pool and offset, translated through
// the last used pool. `Offset`: 8 bytes, from the pool's beginning.
struct Pmemoid {
  template <typename T>
  struct Ref {
    PMEMoid oid;
  };
  template <typename T>
  static Ref<T> ref(PMEMoid oid) noexcept {
    return {oid};
  }
  template <typename T>
  static PMEMoid oid(Ref<T> ref, PMEMoid /*root*/) noexcept {
    return ref.oid;
  }
  template <typename T>
  static T* at(Ref<T> ref, char* /*base*/) noexcept {
    return static_cast<T*>(pmemobj_direct(ref.oid));
  }
};

struct Offset {
  template <typename T>
  struct Ref {
    std::uint64_t offset;
  };
  template <typename T>
  static Ref<T> ref(PMEMoid oid) noexcept {
    return {oid.off};
  }
  template <typename T>
  static PMEMoid oid(Ref<T> ref, PMEMoid root) noexcept {
    return {root.pool_uuid_lo, ref.offset};
  }
  template <typename T>
  static T* at(Ref<T> ref, char* base) noexcept {
    return ref.offset == 0 ? nullptr : reinterpret_cast<T*>(base + ref.offset);
  }
};

template <typename Reference>
class ObjectMemory {
 public:
  static constexpr bool persistent = true;
  template <typename T>
  using Ref = typename Reference::template Ref<T>;

  explicit ObjectMemory(PMEMobjpool* pool) : pool_(pool), base_(reinterpret_cast<char*>(pool)) {}

  void* root(std::size_t bytes) {
    root_ = pmemobj_root(pool_, bytes);
    if (OID_IS_NULL(root_)) fail("create its root");
    return pmemobj_direct(root_);
  }
  template <typename T>
  [[nodiscard]] T* at(Ref<T> ref) const noexcept {
    return Reference::template at<T>(ref, base_);
  }

  // Runs `body`, then makes all its changes durable atomically. If it throws, nothing is changed.
  template <typename Body>
  void transaction(Body&& body) {
    if (pmemobj_tx_begin(pool_, nullptr, TX_PARAM_NONE) != 0) {
      pmemobj_tx_end();
      fail("begin a transaction");
    }
    try {
      std::forward<Body>(body)();
    } catch (...) {
      if (pmemobj_tx_stage() == TX_STAGE_WORK) pmemobj_tx_abort(ECANCELED);
      pmemobj_tx_end();
      throw;
    }
    pmemobj_tx_commit();
    if (pmemobj_tx_end() != 0) fail("end a transaction");
  }
  template <typename T>
  void change(T& field, const T& value) {
    snapshot(&field, sizeof field);
    field = value;
  }
  void snapshot(const void* address, std::size_t bytes) {
    if (pmemobj_tx_add_range_direct(address, bytes) != 0) fail("take a snapshot");
  }
  // Memory allocated in a transaction is flushed at its end and needs no snapshot.
  template <typename T>
  Ref<T> make(std::size_t bytes) {
    return checked<T>(pmemobj_tx_alloc(bytes, type_number));
  }
  template <typename T>
  Ref<T> make_zeroed(std::size_t bytes) {
    return checked<T>(pmemobj_tx_zalloc(bytes, type_number));
  }
  template <typename T>
  void release(Ref<T> ref) {
    if (pmemobj_tx_free(Reference::template oid<T>(ref, root_)) != 0) fail("free memory");
  }

 private:
  // libpmemobj stores it with every allocation, for tools that walk pools.
  static constexpr std::uint64_t type_number = 1;

  [[noreturn]] static void fail(const char* address) {
    const int error = errno;
    if (error == ENOMEM) {
      throw MachineError("the pool is full: increase pool_bytes=");
    }
    throw MachineError("libpmemobj cannot " + std::string(address) + ": " + pmemobj_errormsg());
  }

  template <typename T>
  Ref<T> checked(PMEMoid oid) {
    if (OID_IS_NULL(oid)) fail("allocate");
    return Reference::template ref<T>(oid);
  }

  PMEMobjpool* pool_;
  char* base_;
  PMEMoid root_{};
};

}  // namespace nearfar::bench
