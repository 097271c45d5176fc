#include "gpu/cudnn/plan_search.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <set>

namespace troupe::gpu::cudnn {

namespace {

Result<std::vector<Descriptor>> propose(const Target& target, const LoweredGraph& graph,
                                        cudnnBackendHeurMode_t mode) {
  const auto& library = target.library();
  DescriptorBuilder builder(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
                            fmt::format("heuristics {}", static_cast<int>(mode)));
  builder.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  target.set_properties(builder, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  TROUPE_TRY(const auto heuristics, builder.finalize());
  return descriptor_attribute(library, heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                              CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
}

bool computes_in_fp32(const OperationGraph& graph) {
  return std::all_of(graph.tensors.begin(), graph.tensors.end(), [](const auto& tensor) {
    return tensor.is_virtual || tensor.type == CUDNN_DATA_FLOAT;
  });
}

/// Returns why the policy forbids an engine; empty if it does not.
std::string_view objection(const NumericalNotes& notes, const PlanPolicy& policy, bool fp32) {
  const auto has = [&notes](cudnnBackendNumericalNote_t note) {
    return std::ranges::count(notes, note) > 0;
  };
  if (policy.deterministic && has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
    return "not deterministic";
  if (has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION))
    return "accumulates in reduced precision";
  if (fp32 && has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))
    return "rounds its inputs";
  // Tensor cores round fp32 factors to TF32.
  if (fp32 && !policy.tf32 && has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
    return "TF32";
  return "";
}

struct Candidate {
  Descriptor configuration;
  std::string tag;
  bool compiled;
};

/// Queries the heuristics one mode at a time, and creates plans of candidates until there are
/// enough. Remembers the engines it has seen, and the last rejection.
class Search {
public:
  Search(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
         LoweredGraph lowered)
      : target_(target), policy_(policy), fp32_(computes_in_fp32(graph)),
        graph_(std::make_shared<const LoweredGraph>(std::move(lowered))) {}

  std::vector<Plan> plans;
  SearchCounts counts;

  /// Returns the new candidates that the policy allows, best first.
  std::vector<Candidate> candidates(cudnnBackendHeurMode_t mode) {
    std::vector<Candidate> allowed;
    auto proposed = propose(target_, *graph_, mode);
    if (!proposed) {
      refused_ = proposed.error().message;
      return allowed;
    }
    for (auto& configuration : *proposed) {
      const auto notes = numerical_notes(target_, configuration);
      const bool compiled = compiles_at_run_time(target_, configuration);
      auto tag = describe_engine(target_, configuration);
      if (!notes || !tag || !seen_.insert(*tag).second)
        continue;
      if (const auto why = objection(*notes, policy_, fp32_); !why.empty())
        refused_ = fmt::format("{}: {}", *tag, why);
      else
        allowed.push_back({std::move(configuration), std::move(*tag), compiled});
    }
    return allowed;
  }

  bool has_enough() const { return static_cast<int>(plans.size()) >= policy_.candidates; }

  void make(Candidate candidate) {
    if (has_enough())
      return;
    ++counts.candidates;
    auto plan = Plan::from_configuration(target_, graph_, std::move(candidate.configuration));
    if (!plan)
      refused_ = plan.error().message;
    else if (const auto bytes = plan->engine_workspace_bytes(); bytes > policy_.workspace_bytes)
      refused_ = fmt::format("{} needs {} bytes of workspace", candidate.tag, bytes);
    else
      plans.push_back(std::move(*plan));
  }

  void compile(Candidate candidate) {
    if (has_enough() || counts.compiled == policy_.compiled)
      return;
    ++counts.compiled;
    make(std::move(candidate));
  }

  tl::unexpected<Error> nothing_found(const OperationGraph& graph) const {
    return fail(Errc::unsupported, "{}: no plan for {}; last: {}", graph.name, target_.key(),
                refused_);
  }

private:
  const Target& target_;
  const PlanPolicy& policy_;
  bool fp32_;
  std::shared_ptr<const LoweredGraph> graph_;
  std::set<std::string> seen_;
  std::string refused_ = "no engine was proposed";
};

} // namespace

Result<std::vector<Plan>> find_plans(const Target& target, const OperationGraph& graph,
                                     const PlanPolicy& policy, SearchCounts* counts) {
  TROUPE_TRY(auto lowered, lower(target, graph));
  Search search(target, graph, policy, std::move(lowered));
  std::vector<Candidate> to_compile;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK})
    if (!search.has_enough()) {
      for (auto& candidate : search.candidates(mode))
        if (candidate.compiled)
          to_compile.push_back(std::move(candidate));
        else
          search.make(std::move(candidate));
    }
  if (search.plans.empty())
    for (auto& candidate : to_compile)
      search.compile(std::move(candidate));
  if (counts)
    *counts = search.counts;
  if (search.plans.empty())
    return search.nothing_found(graph);
  return std::move(search.plans);
}

Result<std::vector<std::string>> proposed_engines(const Target& target, const OperationGraph& graph,
                                                  const PlanPolicy& policy) {
  TROUPE_TRY(auto lowered, lower(target, graph));
  Search search(target, graph, policy, std::move(lowered));
  std::vector<std::string> tags;
  for (auto& candidate : search.candidates(CUDNN_HEUR_MODE_A))
    tags.push_back(std::move(candidate.tag));
  if (tags.empty())
    return search.nothing_found(graph);
  return tags;
}

} // namespace troupe::gpu::cudnn
