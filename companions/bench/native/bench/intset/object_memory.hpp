// A libpmemobj pool as the memory of a set.
//
// Transactions are begun without a jump buffer: a failed call only ends the transaction's work
// stage, and we throw, so that destructors run.
#pragma once

#include <libpmemobj.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "bench/errors.hpp"

namespace nearfar::bench {

// How one node names another. `Pmemoid`: libpmemobj's own 16 bytes, pool and offset, translated by
// asking which pool was used last. `Offset`: 8 bytes from the pool's beginning.
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
    if (OID_IS_NULL(root_)) fail("make its root");
    return pmemobj_direct(root_);
  }
  template <typename T>
  [[nodiscard]] T* at(Ref<T> ref) const noexcept {
    return Reference::template at<T>(ref, base_);
  }

  // Runs `body`, then makes all it changed durable at once. If it throws, nothing was changed.
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
  void change(T& place, const T& value) {
    snapshot(&place, sizeof place);
    place = value;
  }
  void snapshot(const void* what, std::size_t bytes) {
    if (pmemobj_tx_add_range_direct(what, bytes) != 0) fail("take a snapshot");
  }
  // What is allocated here is flushed as the transaction ends, and needs no snapshot.
  template <typename T>
  Ref<T> make(std::size_t bytes) {
    return made<T>(pmemobj_tx_alloc(bytes, type_number));
  }
  template <typename T>
  Ref<T> make_zeroed(std::size_t bytes) {
    return made<T>(pmemobj_tx_zalloc(bytes, type_number));
  }
  template <typename T>
  void release(Ref<T> ref) {
    if (pmemobj_tx_free(Reference::template oid<T>(ref, root_)) != 0) fail("free memory");
  }

 private:
  // libpmemobj keeps it with every allocation, for tools that walk pools; ours has one kind.
  static constexpr std::uint64_t type_number = 1;

  [[noreturn]] static void fail(const char* what) {
    const int error = errno;
    if (error == ENOMEM) {
      throw MachineLacks("the pool is full: give it more with pool_bytes=");
    }
    throw MachineLacks("libpmemobj cannot " + std::string(what) + ": " + pmemobj_errormsg());
  }

  template <typename T>
  Ref<T> made(PMEMoid oid) {
    if (OID_IS_NULL(oid)) fail("allocate");
    return Reference::template ref<T>(oid);
  }

  PMEMobjpool* pool_;
  char* base_;
  PMEMoid root_{};
};

}  // namespace nearfar::bench
