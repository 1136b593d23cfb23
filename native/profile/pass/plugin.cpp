// The pass: its steps for each function, in order.

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#if LLVM_VERSION_MAJOR >= 16
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

#include "access.hpp"
#include "classify.hpp"
#include "fields.hpp"
#include "group.hpp"
#include "insert.hpp"
#include "loops.hpp"
#include "options.hpp"
#include "owners.hpp"
#include "plain_version.hpp"
#include "sites.hpp"

using namespace llvm;

namespace nearfar::pass {

namespace {

// Returns the reason, in words for users, why a function must not call the runtime library; empty
// if it may.
StringRef reason_to_skip(const Function& function) {
  if (function.hasFnAttribute(Attribute::Naked)) return "is naked (only assembly)";
  if (function.hasFnAttribute(Attribute::DisableSanitizerInstrumentation))
    return "asks not to be instrumented (disable_sanitizer_instrumentation)";
  if (function.hasFnAttribute(Attribute::PresplitCoroutine)) return "is an unsplit coroutine";
  if (function.getCallingConv() == CallingConv::X86_INTR) return "is an interrupt handler";
  for (const GlobalIFunc& selector : function.getParent()->ifuncs())
    if (selector.getResolverFunction() == &function)
      return "chooses an implementation before the program is loaded (ifunc)";
  return "";
}

bool is_short(const RangeAccess& access) {
  const auto* bytes = dyn_cast<ConstantInt>(access.bytes);
  return bytes != nullptr &&
         bytes->getZExtValue() <= 256;  // four lines: too short for a prefetcher
}

// Whether the function writes lines back explicitly: only then do lock prefixes wait.
bool persists(Function& function) {
  Accesses accesses;
  const DataLayout& layout = function.getParent()->getDataLayout();
  for (Instruction& instruction : instructions(function))
    find_access(instruction, layout, accesses);
  return !accesses.flushes.empty() || !accesses.stream_stores.empty();
}

class NearfarPass : public PassInfoMixin<NearfarPass> {
 public:
  static bool isRequired() { return true; }  // also at -O0 and in optnone functions

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    // Only x86-64 code with 64-bit addresses can call the stubs; other code, such as that of -m32,
    // stays as it is.
    const Triple triple(module.getTargetTriple());
    if (triple.getArch() != Triple::x86_64 || module.getDataLayout().getPointerSizeInBits() != 64)
      return PreservedAnalyses::all();
    const Options options = read_options();
    auto& functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    Sites sites(module, options.rate_log2);
    Fields fields(module);
    Inserter inserter(module, options, sites, fields);
    PlainVersions plain_versions(sites);
    std::vector<Function*> todo;
    for (Function& function : module)
      if (!function.isDeclarationForLinker()) todo.push_back(&function);
    const bool flushes = any_of(todo, [](Function* function) { return persists(*function); });
    for (Function* function : todo) {
      tag_allocations(*function);
      if (const StringRef reason = reason_to_skip(*function); !reason.empty())
        sites.skip(*function, reason);
      else {
        fields.enter(*function);
        instrument(*function, options, inserter, functions, flushes, plain_versions);
      }
    }
    plain_versions.finish();
    sites.finish();
    if (options.only_lines) stripNonLineTableDebugInfo(module);
    return PreservedAnalyses::none();
  }

 private:
  static void instrument(Function& function, const Options& options, Inserter& inserter,
                         FunctionAnalysisManager& analyses, bool module_flushes,
                         PlainVersions& plain_versions) {
    const DataLayout& layout = function.getParent()->getDataLayout();
    Accesses accesses;
    for (Instruction& instruction : instructions(function))
      find_access(instruction, layout, accesses);
    if (accesses.inline_assembly)
      inserter.sites().skip(function, "its inline assembly was left out");
    if (accesses.unknown_intrinsic)
      inserter.sites().skip(function, "its processor-specific vector accesses were left out");
    if (!accesses.any()) return;
    plain_versions.keep(function);

    auto& loops = analyses.getResult<LoopAnalysis>(function);
    auto& evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
    auto& dominators = analyses.getResult<DominatorTreeAnalysis>(function);
    std::vector<Group> groups =
        group_accesses(function, accesses.plain, evolution, !options.every_access());

    // All analyses precede all changes of the code.
    auto class_of = [&](const Instruction& instruction, Value* pointer) {
      return classify(instruction, pointer, loops, evolution);
    };
    std::vector<nf_class> classes;
    for (const Group& group : groups)
      classes.push_back(class_of(*group.leader.instruction, group.leader.pointer));
    std::vector<nf_class> lane_classes;
    for (const LaneAccess& access : accesses.lanes)
      lane_classes.push_back(class_of(*access.instruction, access.pointers));
    // A long range is a stream; a short one has the class of its address.
    std::vector<nf_class> range_classes;
    for (const RangeAccess& access : accesses.ranges)
      range_classes.push_back(is_short(access) ? class_of(*access.instruction, access.pointer)
                                               : NF_STREAM);
    std::vector<nf_class> string_classes;
    for (const StringAccess& access : accesses.strings)
      string_classes.push_back(class_of(*access.call, access.first));

    std::vector<bool> taken(groups.size(), false);
    LoopPlan plan(function, loops, evolution, dominators);
    if (options.loops) taken = plan.choose(groups);
    Anchors anchors = find_anchors(groups, taken, dominators);
    plan.apply(groups, classes, inserter);

    for (std::size_t i = 0; i < groups.size(); ++i)
      if (!taken[i]) {
        Anchor* anchor = anchors.shared_by(i);
        inserter.group(groups[i], classes[i], anchor, anchor != nullptr && anchor->group == i);
      }
    for (std::size_t i = 0; i < accesses.lanes.size(); ++i)
      inserter.lanes(accesses.lanes[i], lane_classes[i]);
    for (std::size_t i = 0; i < accesses.ranges.size(); ++i)
      inserter.range(accesses.ranges[i], range_classes[i]);
    for (std::size_t i = 0; i < accesses.strings.size(); ++i)
      inserter.string(accesses.strings[i], string_classes[i]);
    for (const Flush& flush : accesses.flushes) inserter.flush(flush);
    for (const StreamStore& store : accesses.stream_stores) inserter.stream_store(store);
    for (Instruction* fence : accesses.fences) inserter.fence(fence);
    if (module_flushes)
      for (Instruction* locked : accesses.locked) inserter.fence(locked);
  }
};

}  // namespace

}  // namespace nearfar::pass

extern "C" __attribute__((visibility("default"))) ::llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "nearfar", "1", [](PassBuilder& builder) {
            builder.registerOptimizerLastEPCallback([](ModulePassManager& passes, auto&&...) {
              passes.addPass(nearfar::pass::NearfarPass());
            });
          }};
}
