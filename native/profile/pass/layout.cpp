#include "layout.hpp"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfo.h>

using namespace llvm;

namespace nearfar::pass {

namespace {

constexpr unsigned max_depth = 16;  // maximum nesting of structures

bool is_structure(const DICompositeType& type) {
  switch (type.getTag()) {
    case dwarf::DW_TAG_structure_type:
    case dwarf::DW_TAG_class_type:
    case dwarf::DW_TAG_union_type:
      return true;
    default:
      return false;
  }
}

// In C, structures have a name space of their own.
bool is_c(const Module& module) {
  for (const DICompileUnit* unit : module.debug_compile_units()) {
    switch (unit->getSourceLanguage()) {
      case dwarf::DW_LANG_C:
      case dwarf::DW_LANG_C89:
      case dwarf::DW_LANG_C99:
      case dwarf::DW_LANG_C11:
        return true;
      default:
        return false;
    }
  }
  return false;
}

bool has_members(const DICompositeType& type) {
  return !type.isForwardDecl() && type.getSizeInBits() != 0;
}

std::uint64_t bytes_of(const DIType& type) { return (type.getSizeInBits() + 7) / 8; }

// Containers of the standard libraries are moved as a whole: users do not know their fields.
bool is_of_standard_library(const DICompositeType& type) {
  const DIScope* scope = type.getScope();
  StringRef outermost;
  for (; scope != nullptr; scope = scope->getScope())
    if (isa<DINamespace>(scope) && !scope->getName().empty()) outermost = scope->getName();
  return outermost == "std" || outermost == "__gnu_cxx" || outermost == "core" ||
         outermost == "alloc";
}

std::string scope_of(const DIScope* scope) {
  std::string names;
  for (; scope != nullptr; scope = scope->getScope()) {
    if (isa<DIFile>(scope) || isa<DICompileUnit>(scope)) break;
    if (const auto* space = dyn_cast<DINamespace>(scope);
        space != nullptr && space->getExportSymbols() && !space->getName().empty())
      continue;  // inline namespaces such as __cxx11
    const StringRef name = scope->getName();
    if (!name.empty()) names = (name + "::" + names).str();
  }
  return names;
}

}  // namespace

Layouts::Layouts(const Module& module) : is_c_(is_c(module)) {
  DebugInfoFinder finder;
  finder.processModule(module);
  for (const DIType* type : finder.types()) {
    if (const auto* composite = dyn_cast<DICompositeType>(type)) {
      if (is_structure(*composite) && has_members(*composite)) add(*composite);
    } else if (const auto* derived = dyn_cast<DIDerivedType>(type);
               derived != nullptr && derived->getTag() == dwarf::DW_TAG_typedef) {
      const auto* named = dyn_cast_or_null<DICompositeType>(derived->getBaseType());
      if (named == nullptr || !named->getName().empty() || !has_members(*named)) continue;
      const std::string name = scope_of(derived->getScope()) + derived->getName().str();
      if (typedefs_.try_emplace(named, name).second) by_name_[name].push_back(named);
    }
  }
}

void Layouts::add(const DICompositeType& type) {
  if (!type.getIdentifier().empty()) by_name_[type.getIdentifier()].push_back(&type);
  if (type.getName().empty()) return;
  const std::string full = scope_of(type.getScope()) + type.getName().str();
  by_name_[full].push_back(&type);
  // LLVM's type names have no template arguments.
  const std::string without_arguments = full.substr(0, full.find('<'));
  if (without_arguments != full) by_name_[without_arguments].push_back(&type);
}

const DIType* Layouts::bare(const DIType* type) {
  while (const auto* derived = dyn_cast_or_null<DIDerivedType>(type)) {
    switch (derived->getTag()) {
      case dwarf::DW_TAG_typedef:
      case dwarf::DW_TAG_const_type:
      case dwarf::DW_TAG_volatile_type:
      case dwarf::DW_TAG_restrict_type:
      case dwarf::DW_TAG_atomic_type:
      case dwarf::DW_TAG_member:
        type = derived->getBaseType();
        continue;
      default:
        return type;
    }
  }
  return type;
}

const DIType* Layouts::pointee(const DIType* type) {
  const auto* derived = dyn_cast_or_null<DIDerivedType>(bare(type));
  if (derived == nullptr) return nullptr;
  switch (derived->getTag()) {
    case dwarf::DW_TAG_pointer_type:
    case dwarf::DW_TAG_reference_type:
    case dwarf::DW_TAG_rvalue_reference_type:
      return derived->getBaseType();
    default:
      return nullptr;
  }
}

const DICompositeType* Layouts::structure(const DIType* type) const {
  const auto* composite = dyn_cast_or_null<DICompositeType>(bare(type));
  while (composite != nullptr && composite->getTag() == dwarf::DW_TAG_array_type)
    composite = dyn_cast_or_null<DICompositeType>(bare(composite->getBaseType()));
  if (composite == nullptr || !is_structure(*composite)) return nullptr;
  if (has_members(*composite)) return composite;
  const StringRef identifier = composite->getIdentifier();
  return find(identifier.empty() ? composite->getName() : identifier, 0);
}

const DICompositeType* Layouts::find(StringRef name, std::uint64_t size) const {
  const auto known = by_name_.find(name);
  if (name.empty() || known == by_name_.end()) return nullptr;
  for (const DICompositeType* type : known->second)
    if (size == 0 || bytes_of(*type) == size) return type;
  return nullptr;
}

std::string Layouts::name_of(const DICompositeType& type) const {
  if (type.getName().empty()) {
    const auto known = typedefs_.find(&type);
    return known != typedefs_.end() ? known->second : "";
  }
  const std::string name = scope_of(type.getScope()) + type.getName().str();
  if (!is_c_) return name;
  return (type.getTag() == dwarf::DW_TAG_union_type ? "union " : "struct ") + name;
}

Place Layouts::place(const DICompositeType& type, std::int64_t offset) const {
  return {&type, name_of(type), bytes_of(type), offset};
}

const DIDerivedType* Layouts::member_at(const DICompositeType& type, std::uint64_t offset,
                                        std::uint64_t bytes) const {
  const DIDerivedType* best = nullptr;
  for (const DINode* node : type.getElements()) {
    const auto* member = dyn_cast_or_null<DIDerivedType>(node);
    if (member == nullptr || member->isStaticMember()) continue;
    if (member->getTag() != dwarf::DW_TAG_member && member->getTag() != dwarf::DW_TAG_inheritance)
      continue;
    const DIType* base = member->getBaseType();
    std::uint64_t size_bits = member->getSizeInBits();
    if (size_bits == 0 && base != nullptr) size_bits = bare(base)->getSizeInBits();
    const std::uint64_t begin = member->getOffsetInBits() / 8;
    const std::uint64_t end = (member->getOffsetInBits() + size_bits + 7) / 8;
    if (offset < begin || offset >= end) continue;
    // Members of a union overlap, and bases may be empty: prefers a member that contains the whole
    // access.
    if (offset + bytes <= end) return member;
    if (best == nullptr) best = member;
  }
  return best;
}

Leaf Layouts::leaf(const DICompositeType& type, std::uint64_t offset, std::uint64_t bytes) const {
  Leaf result;
  const DICompositeType* inside = &type;
  std::uint64_t begin = 0;
  for (unsigned depth = 0; depth < max_depth; ++depth) {
    const DIDerivedType* member = member_at(*inside, offset - begin, bytes);
    if (member == nullptr) break;
    if (!member->getName().empty() && member->getTag() == dwarf::DW_TAG_member) {
      if (!result.path.empty()) result.path += ".";
      result.path += member->getName().str();
    }
    const DIType* of = bare(member->getBaseType());
    const std::uint64_t size = member->getSizeInBits() != 0 ? bytes_of(*member)
                               : of != nullptr              ? bytes_of(*of)
                                                            : 0;
    begin += member->getOffsetInBits() / 8;
    result.offset = begin;
    result.bytes = size;
    result.type = of;
    const auto* composite = dyn_cast_or_null<DICompositeType>(of);
    if (composite == nullptr || !is_structure(*composite)) break;
    const DICompositeType* whole = structure(composite);
    if (whole == nullptr) break;
    if (member->getTag() == dwarf::DW_TAG_member && is_of_standard_library(*whole)) break;
    // The access copies the whole part at once.
    if (offset == begin && bytes >= size && size > 8) break;
    inside = whole;
  }
  if (offset + bytes > result.offset + std::max(result.bytes, std::uint64_t{1}))
    return {"", offset, bytes, nullptr};  // the access covers several fields
  return result;
}

const DIType* Layouts::value_type(const DIType* type, std::uint64_t offset) const {
  const DIType* at = bare(type);
  for (unsigned depth = 0; depth < max_depth; ++depth) {
    const auto* composite = dyn_cast_or_null<DICompositeType>(at);
    if (composite == nullptr) return at;
    if (composite->getTag() == dwarf::DW_TAG_array_type) {
      at = bare(composite->getBaseType());
      const std::uint64_t size = at != nullptr ? bytes_of(*at) : 0;
      if (size != 0) offset %= size;
      continue;
    }
    const DICompositeType* whole = structure(composite);
    if (whole == nullptr) return nullptr;
    const DIDerivedType* member = member_at(*whole, offset, 8);
    if (member == nullptr) return nullptr;
    offset -= member->getOffsetInBits() / 8;
    at = bare(member->getBaseType());
  }
  return nullptr;
}

bool Layouts::contains(const DICompositeType& type, const DICompositeType& part,
                       std::uint64_t offset) const {
  const DICompositeType* at = &type;
  for (unsigned depth = 0; depth < max_depth && at != nullptr; ++depth) {
    if (at == &part) return offset == 0;
    const DIDerivedType* member = member_at(*at, offset, bytes_of(part));
    if (member == nullptr) return false;
    offset -= member->getOffsetInBits() / 8;
    const DIType* of = bare(member->getBaseType());
    at = structure(of);
    if (at != nullptr && bytes_of(*at) != 0) offset %= bytes_of(*at);  // within one array element
  }
  return false;
}

}  // namespace nearfar::pass
