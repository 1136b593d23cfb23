// Layouts of the program's types, from debug information.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <string>

namespace nearfar::pass {

// A place in a type; `type` is null if there is no debug information of the type.
struct Place {
  const llvm::DICompositeType* type = nullptr;
  std::string name;
  std::uint64_t size = 0;   // bytes of the type; 0: unknown
  std::int64_t offset = 0;  // bytes from the type's start
};

// A field that a split of its type would move as a whole.
struct Leaf {
  std::string path;  // "key.low"; empty: padding, or several fields
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  const llvm::DIType* type = nullptr;
};

class Layouts {
 public:
  explicit Layouts(const llvm::Module& module);

  // Returns the type without typedef, const and similar wrappers.
  static const llvm::DIType* bare(const llvm::DIType* type);
  // Returns what `type` points or refers to, or null.
  static const llvm::DIType* pointee(const llvm::DIType* type);
  // If `type` is a structure with known members, or an array of such structures, returns the
  // structure; else null.
  const llvm::DICompositeType* structure(const llvm::DIType* type) const;
  // Returns the structure with this identifier (C++) or name (C, LLVM); `size` 0 matches any size.
  const llvm::DICompositeType* find(llvm::StringRef name, std::uint64_t size) const;

  // Returns the name that users know: with namespaces; for an unnamed type, the name of its
  // typedef.
  std::string name_of(const llvm::DICompositeType& type) const;
  Place place(const llvm::DICompositeType& type, std::int64_t offset) const;

  // Returns the field at `offset`. Structures of the program are resolved down to their fields.
  Leaf leaf(const llvm::DICompositeType& type, std::uint64_t offset, std::uint64_t bytes) const;
  // Returns the innermost type at `offset`, such as a pointer or number; null if unknown.
  const llvm::DIType* value_type(const llvm::DIType* type, std::uint64_t offset) const;
  // Whether `type` contains `part` at `offset`, directly or inside one of its parts.
  bool contains(const llvm::DICompositeType& type, const llvm::DICompositeType& part,
                std::uint64_t offset) const;

 private:
  void add(const llvm::DICompositeType& type);
  const llvm::DIDerivedType* member_at(const llvm::DICompositeType& type, std::uint64_t offset,
                                       std::uint64_t bytes) const;

  bool is_c_;
  llvm::StringMap<llvm::SmallVector<const llvm::DICompositeType*, 1>> by_name_;
  llvm::DenseMap<const llvm::DICompositeType*, std::string> typedefs_;
};

}  // namespace nearfar::pass
