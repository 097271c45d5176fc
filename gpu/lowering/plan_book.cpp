#include "plan_book.hpp"

#include "alignment.hpp"

#include <cstdlib>

namespace troupe::gpu {

namespace {

/// Heuristics are seldom wrong by more than a few places.
constexpr int measured_candidates = 8;

/// As the XDG Base Directory Specification says.
std::filesystem::path cache_folder() {
  const auto* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache)
    return std::filesystem::path{cache} / "troupe" / "cudnn";
  const auto* const home = std::getenv("HOME");
  return (home && *home ? std::filesystem::path{home} / ".cache"
                        : std::filesystem::temp_directory_path()) /
         "troupe" / "cudnn";
}

std::size_t bytes_of(const cudnn::TensorSpec& tensor) {
  std::size_t elements = 1;
  for (const auto size : tensor.dims)
    elements *= static_cast<std::size_t>(size);
  return aligned(elements * 4); // no type used here is wider
}

} // namespace

PlanBook::PlanBook(cudnn::Target target, const CompileOptions& options)
    : target_{std::move(target)} {
  policy_.deterministic = options.deterministic;
  policy_.tf32 = options.tf32;
}

Result<std::unique_ptr<PlanBook>> PlanBook::open(CudaDevice& device,
                                                 const CompileOptions& options) {
  const auto library = open_cudnn(library_places(LibraryEnvironment::of_process()));
  if (!library)
    return failure(library.error());
  auto target = cudnn::Target::of_device(*library, device.info().index);
  if (!target)
    return failure(target.error());
  auto book = std::make_unique<PlanBook>(std::move(*target), options);
  book->policy_.candidates = measured_candidates;
  book->device_ = &device;
  book->cache_.emplace(cache_folder());
  book->stream_ = device.create_stream({.name = "measure"});
  return book;
}

Result<std::shared_ptr<const cudnn::Plan>> PlanBook::plan(const cudnn::OperationGraph& graph) {
  const auto key = graph.canonical_text();
  const auto known = plans_.find(key);
  if (known != plans_.end())
    return known->second;
  auto chosen = choose(graph);
  auto plan = chosen
                  ? Result<std::shared_ptr<const cudnn::Plan>>{std::make_shared<const cudnn::Plan>(
                        std::move(chosen->plan))}
                  : failure(chosen.error());
  return plans_.emplace(key, std::move(plan)).first->second;
}

Result<cudnn::ChosenPlan> PlanBook::choose(const cudnn::OperationGraph& graph) const {
  return device_ ? measure(graph) : cudnn::choose_plan(target_, graph, policy_, nullptr);
}

Result<cudnn::ChosenPlan> PlanBook::measure(const cudnn::OperationGraph& graph) const {
  // Memory for every tensor of the graph and the largest workspace, for as long as it is measured.
  std::size_t bytes = policy_.workspace_bytes;
  for (const auto& tensor : graph.tensors)
    bytes += tensor.is_virtual ? 0 : bytes_of(tensor);
  const auto memory = device_->allocate(bytes, MemoryKind::workspace);
  if (!memory)
    return failure(memory.error());
  std::vector<cudnn::Binding> bindings;
  auto* at = (*memory)->data() + policy_.workspace_bytes;
  for (const auto& tensor : graph.tensors)
    if (!tensor.is_virtual) {
      bindings.push_back({tensor.uid, at});
      at += bytes_of(tensor);
    }
  const cudnn::MeasuringBuffers buffers{bindings, (*memory)->data(), policy_.workspace_bytes};
  return cudnn::choose_plan(target_, graph, policy_, &*cache_, cuda_stream(*stream_).handle(),
                            &buffers);
}

} // namespace troupe::gpu
