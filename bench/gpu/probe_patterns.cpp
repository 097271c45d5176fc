/// Finds the patterns that cuDNN has engines for, for every convolution of the benchmarked networks
/// and for attention of language models.
///
///   bench_gpu_probe_patterns [--proposed] PROPERTIES.json...
///
/// Each file describes a GPU (tests/gpu/devices/); no GPU is needed. Prints Markdown tables. A cell
/// is the number of the first cuDNN engine whose plan could be created, or a dash. With --proposed
/// it is the first engine that heuristics propose, and no plan is created. If a CUDA driver's
/// library, or the toolkit's stub of it, is in the loader's path, this includes engines that
/// compile at run time. All engines for attention do. With the stub that the tests build
/// (tests/gpu/driver_stub.cmake), their plans can be created, too.
#include "bench/gpu/attention_problems.hpp"
#include "bench/gpu/described_gpu.hpp"
#include "bench/gpu/network_problems.hpp"
#include "gpu/cudnn/plan_search.hpp"
#include "gpu/lowering/attention_graph.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::gpu::cudnn;

struct Column {
  const char* title;
  OperationGraph (*make)(const ConvolutionProblem&);
  bool (*applies)(const ConvolutionProblem&);
};

bool always(const ConvolutionProblem&) {
  return true;
}
/// The stem reads images, which no layer normalizes and which have no gradient.
bool not_stem(const ConvolutionProblem& problem) {
  return problem.in > 4;
}
bool ends_block(const ConvolutionProblem& problem) {
  return problem.kernel == 1;
}

const std::vector<Column> columns = {
    {"a forward", convolution_forward, always},
    {"a data", convolution_backward_data, not_stem},
    {"a filter", [](const ConvolutionProblem& p) { return convolution_backward_filter(p, p.type); },
     always},
    {"a filter, fp32 dW",
     [](const ConvolutionProblem& p) { return convolution_backward_filter(p, CUDNN_DATA_FLOAT); },
     always},
    {"b", convolution_statistics, always},
    {"c", normalized_convolution_statistics, not_stem},
    {"d", [](const ConvolutionProblem& p) { return backward_data_batch_norm(p); }, not_stem},
    {"d, add",
     [](const ConvolutionProblem& p) { return backward_data_batch_norm(p, Residual::none, true); },
     not_stem},
    {"d, shortcut, add",
     [](const ConvolutionProblem& p) { return backward_data_batch_norm(p, Residual::plain, true); },
     not_stem},
    {"d, dual, add",
     [](const ConvolutionProblem& p) {
       return backward_data_batch_norm(p, Residual::normalized, true);
     },
     not_stem},
    {"e", [](const ConvolutionProblem& p) { return normalized_backward_filter(p, p.type); },
     not_stem},
    {"e, fp32 dW",
     [](const ConvolutionProblem& p) { return normalized_backward_filter(p, CUDNN_DATA_FLOAT); },
     not_stem},
    {"f", [](const ConvolutionProblem& p) { return residual_convolution_statistics(p, false); },
     ends_block},
    {"f, dual",
     [](const ConvolutionProblem& p) { return residual_convolution_statistics(p, true); },
     ends_block},
};

Result<std::string> first_engine(const Target& target, const OperationGraph& graph,
                                 const PlanPolicy& policy, bool proposed) {
  if (proposed) {
    const auto tags = proposed_engines(target, graph, policy);
    if (!tags)
      return failure(tags.error());
    return tags->front();
  }
  const auto plans = find_plans(target, graph, policy);
  if (!plans)
    return failure(plans.error());
  return plans->front().tag();
}

std::string cell(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
                 bool proposed) {
  const auto tag = first_engine(target, graph, policy, proposed);
  if (!tag) {
    fmt::print(stderr, "{}\n", tag.error().message);
    return "–";
  }
  return tag->substr(3, tag->find(' ') - 3); // for example 38 of "eng38 k2=5 ..."
}

void print_table(const Target& target, const char* network, const char* type,
                 const std::vector<ConvolutionProblem>& problems, bool proposed) {
  fmt::print("\n## {}, {}, {}\n\n| convolution |", network, type, target.key());
  for (const auto& column : columns)
    fmt::print(" {} |", column.title);
  fmt::print("\n|---|");
  for (std::size_t i = 0; i < columns.size(); ++i)
    fmt::print("---|");
  fmt::print("\n");
  for (const auto& problem : problems) {
    fmt::print("| {} |", problem.to_string());
    for (const auto& column : columns)
      fmt::print(" {} |", column.applies(problem)
                              ? cell(target, column.make(problem), PlanPolicy{}, proposed)
                              : " ");
    fmt::print("\n");
    std::fflush(stdout);
  }
}

void print_attention(const Target& target, const char* type,
                     const std::vector<AttentionProblem>& problems, bool proposed) {
  fmt::print("\n## Attention, {}, {}\n\n| batch, heads | forward | backward | deterministic "
             "backward |\n|---|---|---|---|\n",
             type, target.key());
  const auto policy = attention_policy(PlanPolicy{});
  auto deterministic = policy;
  deterministic.deterministic = true;
  for (const auto& problem : problems)
    fmt::print("| {} | {} | {} | {} |\n", problem.to_string(),
               cell(target, attention_forward(problem), policy, proposed),
               cell(target, attention_backward(problem, false), policy, proposed),
               cell(target, attention_backward(problem, true), deterministic, proposed));
}

Status probe(const CudnnLibrary& library, const std::string& file, bool proposed) {
  std::ifstream in(file);
  const std::string json{std::istreambuf_iterator<char>(in), {}};
  const auto target = bench::target_of_properties(library, json);
  if (!target)
    return failure(target.error());
  const auto resnet50 = bench::probed_network("resnet50", 128, 224, Stem::imagenet);
  const auto resnet18 = bench::probed_network("resnet18", 512, 32, Stem::cifar);
  if (!resnet50 || !resnet18)
    return failure(resnet50 ? resnet18.error() : resnet50.error());
  for (const auto type : {CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
    const auto* name = type == CUDNN_DATA_HALF ? "fp16" : "bf16";
    print_table(*target, "ResNet-50, 224, batch 128", name, bench::convolutions_of(*resnet50, type),
                proposed);
    print_table(*target, "ResNet-18, 32, batch 512", name, bench::convolutions_of(*resnet18, type),
                proposed);
    print_attention(*target, name, bench::probed_attention(type), proposed);
  }
  return {};
}

} // namespace

int main(int argc, char** argv) {
  const auto library = open_cudnn(library_places_of_process());
  if (!library) {
    fmt::print(stderr, "{}\n", library.error().to_string());
    return library.error().exit_code();
  }
  const bool proposed = argc > 1 && std::string_view(argv[1]) == "--proposed";
  for (int i = proposed ? 2 : 1; i < argc; ++i)
    if (const auto status = probe(*library, argv[i], proposed); !status) {
      fmt::print(stderr, "{}: {}\n", argv[i], status.error().to_string());
      return status.error().exit_code();
    }
  return 0;
}
