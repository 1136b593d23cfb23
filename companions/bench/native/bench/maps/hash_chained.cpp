#include "bench/maps/hash_chained.hpp"

#include "bench/maps/owned.hpp"

namespace nearfar::bench {
namespace {

const RegisteredMap by_transactions{
    both<HashChained, Transactional>("hash-tx", "hash with chains; in a pool by transactions")};
const RegisteredMap by_publishing{both<HashChained, Published>(
    "hash-atomic", "hash with chains; in a pool by published redo logs, without transactions")};
}  // namespace
}  // namespace nearfar::bench
