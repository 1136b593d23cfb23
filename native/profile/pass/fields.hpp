// The fields of types that accesses touch, from TBAA and debug information.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <string>

#include "access.hpp"
#include "group.hpp"
#include "layout.hpp"

namespace nearfar::pass {

class Fields {
 public:
  explicit Fields(llvm::Module& module);

  // Collects the debug variables of `function`, whose accesses are described next.
  void enter(const llvm::Function& function);

  // Each of these returns one line per touched field (abi.h), in the order of touching. The result
  // is empty if neither TBAA nor debug information determines the type.
  std::string of_group(const Group& group) const;
  std::string of_groups(llvm::ArrayRef<const Group*> groups) const;
  std::string of_access(const llvm::Instruction& instruction, const llvm::Value* pointer,
                        std::uint64_t bytes) const;

 private:
  std::optional<Place> place_of(const llvm::Instruction& instruction,
                                const llvm::Value* pointer) const;
  std::optional<Place> by_tbaa(const llvm::Instruction& instruction) const;
  std::optional<Place> by_pointer(const llvm::Value* pointer, unsigned depth) const;
  std::optional<Place> in_llvm_type(const llvm::GEPOperator& gep, std::int64_t beyond) const;
  bool points_to_several(const llvm::Value& join) const;
  // Returns the places that a pointer may have where paths join, such as &node->left and
  // &node->right.
  llvm::SmallVector<Place, 4> places_of_join(const llvm::Value* pointer) const;
  Leaf leaf_at(const Place& place, std::uint64_t bytes) const;
  // Returns the structure if the place is at its start, else the innermost type there, such as a
  // pointer or number; null if unknown.
  const llvm::DIType* type_at(const std::optional<Place>& place) const;
  // Returns the type that `base` points to according to debug information, or null.
  const llvm::DIType* pointee_of(const llvm::Value* base, unsigned depth) const;
  const llvm::DIType* loaded_type(const llvm::LoadInst& load, unsigned depth) const;
  const llvm::DIType* variable_type(const llvm::Value* value) const;

  const llvm::DataLayout& layout_;
  Layouts layouts_;
  struct Variable {
    const llvm::DIType* type;
    std::uint64_t offset;  // bytes of the variable that contains the value
  };
  llvm::DenseMap<const llvm::Value*, Variable> variables_;
};

}  // namespace nearfar::pass
