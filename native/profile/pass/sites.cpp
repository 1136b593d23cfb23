#include "sites.hpp"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <cstdlib>

#include "owners.hpp"

using namespace llvm;

namespace nearfar::pass {

namespace {

// Runs before the program's constructors (100 and above), whose accesses need the IDs.
constexpr int constructor_priority = 1;

StructType* site_type(LLVMContext& context) {
  Type* pointer = PointerType::get(context, 0);
  Type* i32 = Type::getInt32Ty(context);
  Type* i8 = Type::getInt8Ty(context);
  Type* i16 = Type::getInt16Ty(context);
  return StructType::get(context, {pointer, pointer, i32, i32, i32, i8, i8, i16, pointer});
}

std::string path_of(const DIFile& file) {
  const std::string name = file.getFilename().str();
  if (name.empty() || name.front() == '/' || file.getDirectory().empty()) return name;
  return (file.getDirectory() + "/" + name).str();
}

// Replaces tabs and line ends, which separate the note's fields.
std::string clean(StringRef text) {
  std::string result = text.str();
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return result;
}

std::string assembly_string(StringRef text) {
  std::string result;
  for (const char c : text) {
    if (c == '\t')
      result += "\\t";
    else if (c == '\n')
      result += "\\n";
    else if (c == '"' || c == '\\')
      result += {'\\', c};
    else
      result += c;
  }
  return result;
}

// Merged and moved instructions lose their location, or have line 0; in these cases the nearest
// location is used.
DebugLoc nearest_location(const Instruction& instruction) {
  for (const Instruction* at = &instruction; at != nullptr; at = at->getNextNode())
    if (const DebugLoc& location = at->getDebugLoc(); location && location.getLine() != 0)
      return location;
  for (const Instruction* at = &instruction; at != nullptr; at = at->getPrevNode())
    if (const DebugLoc& location = at->getDebugLoc(); location && location.getLine() != 0)
      return location;
  return instruction.getDebugLoc();
}

std::string compiler_text() {
  const char* text = std::getenv("NEARFAR_COMPILER_TEXT");
  return text != nullptr ? text : "clang " LLVM_VERSION_STRING;
}

}  // namespace

Sites::Sites(Module& module, unsigned rate_log2) : module_(module), rate_log2_(rate_log2) {
  record_ = new GlobalVariable(module, module_type(), false, GlobalValue::InternalLinkage, nullptr,
                               "__nf_module");
}

StructType* Sites::module_type() const {
  LLVMContext& context = module_.getContext();
  Type* pointer = PointerType::get(context, 0);
  Type* i32 = Type::getInt32Ty(context);
  return StructType::get(context, {i32, i32, i32, i32, pointer, pointer});
}

Constant* Sites::string(StringRef text) {
  Constant*& known = strings_[text];
  if (known == nullptr) {
    Constant* bytes = ConstantDataArray::getString(module_.getContext(), text);
    auto* variable = new GlobalVariable(module_, bytes->getType(), true,
                                        GlobalValue::PrivateLinkage, bytes, "__nf_text");
    variable->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    variable->setAlignment(Align(1));
    known = variable;
  }
  return known;
}

std::uint32_t Sites::add(const Instruction& instruction, std::uint64_t bytes,
                         nf_operation operation, nf_class access_class, StringRef fields,
                         std::uint64_t tests_per_line) {
  LLVMContext& context = module_.getContext();
  std::string function = instruction.getFunction()->getName().str();
  std::string file = module_.getSourceFileName();
  unsigned line = 0;
  unsigned column = 0;
  if (const DebugLoc& location = nearest_location(instruction)) {
    line = location.getLine();
    column = location.getCol();
    // Uses the innermost inlined function, whose source contains the line.
    if (const auto* scope = cast<DIScope>(location.getScope())) {
      if (const DIFile* in = scope->getFile()) file = path_of(*in);
      if (const DISubprogram* program = cast<DILocalScope>(scope)->getSubprogram())
        function =
            (program->getLinkageName().empty() ? program->getName() : program->getLinkageName())
                .str();
    }
  }
  Type* i32 = Type::getInt32Ty(context);
  Type* i8 = Type::getInt8Ty(context);
  Constant* site = ConstantStruct::get(
      site_type(context),
      {string(function), string(file), ConstantInt::get(i32, line), ConstantInt::get(i32, column),
       ConstantInt::get(i32, std::min<std::uint64_t>(bytes, UINT32_MAX)),
       ConstantInt::get(i8, operation), ConstantInt::get(i8, access_class),
       ConstantInt::get(Type::getInt16Ty(context),
                        std::clamp<std::uint64_t>(tests_per_line, 1, UINT16_MAX)),
       string(fields)});
  const auto [known, is_new] =
      indices_.try_emplace(site, static_cast<std::uint32_t>(sites_.size()));
  if (is_new) sites_.push_back(site);
  return known->second;
}

Value* Sites::first_site(IRBuilder<>& builder) {
  Value* location = builder.CreateStructGEP(module_type(), record_, 3);
  return builder.CreateLoad(builder.getInt32Ty(), location, "nf.first");
}

Value* Sites::id(IRBuilder<>& builder, std::uint32_t index) {
  return builder.CreateAdd(first_site(builder), builder.getInt32(index), "nf.site");
}

Value* Sites::is_traced(IRBuilder<>& builder) {
  return builder.CreateIsNotNull(first_site(builder), "nf.traced");
}

void Sites::skip(const Function& function, StringRef reason) {
  note_ += "skipped\t" + clean(function.getName()) + "\t" + clean(module_.getSourceFileName()) +
           "\t" + clean(reason) + "\n";
}

void Sites::finish() {
  LLVMContext& context = module_.getContext();
  Type* i32 = Type::getInt32Ty(context);
  auto* table_type = ArrayType::get(site_type(context), sites_.size());
  auto* table = new GlobalVariable(module_, table_type, true, GlobalValue::InternalLinkage,
                                   ConstantArray::get(table_type, sites_), "__nf_sites");
  const std::string compiler = compiler_text();
  record_->setInitializer(ConstantStruct::get(
      module_type(),
      {ConstantInt::get(i32, NF_ABI_VERSION), ConstantInt::get(i32, rate_log2_),
       ConstantInt::get(i32, sites_.size()), ConstantInt::get(i32, 0), table, string(compiler)}));

  Type* nothing = Type::getVoidTy(context);
  auto* constructor =
      Function::Create(FunctionType::get(nothing, false), GlobalValue::InternalLinkage,
                       "__nf_register_module", module_);
  IRBuilder<> builder(BasicBlock::Create(context, "", constructor));
  builder.CreateCall(
      module_.getOrInsertFunction("__nf_register", nothing, PointerType::get(context, 0)),
      {record_});
  register_variables(module_, builder);
  builder.CreateRetVoid();
  constructor->addFnAttr(Attribute::NoUnwind);
  appendToGlobalCtors(module_, constructor, constructor_priority);

  note_ = "compiled\t" + clean(module_.getSourceFileName()) + "\t" + clean(compiler) + "\t1/" +
          std::to_string(1u << rate_log2_) + "\n" + note_;
  // Not loaded at run time; the linker concatenates the notes of all files.
  module_.appendModuleInlineAsm(".pushsection .nearfar.note,\"\",@progbits\n.ascii \"" +
                                assembly_string(note_) + "\"\n.popsection");
}

}  // namespace nearfar::pass
