#include "gpu/lowering/plan_registry.hpp"

#include "core/cores.hpp"
#include "core/fail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace troupe::gpu {

namespace {

using Clock = std::chrono::steady_clock;

/// Plans to measure: heuristics are seldom wrong by more than a few places.
constexpr int measured_candidates = 8;

/// An engine that compiles a general kernel takes this many times as long as one with a ready
/// kernel.
constexpr double general_engine = 4;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string key_of(const cudnn::OperationGraph& graph, const cudnn::PlanPolicy& policy) {
  return fmt::format("{} {} {} {}", policy.deterministic, policy.tf32, policy.workspace_bytes,
                     graph.canonical_text());
}

std::string describe(const cudnn::OperationGraph& graph, const Result<cudnn::ChosenPlan>& chosen,
                     double seconds) {
  if (!chosen)
    return fmt::format("{} ({:.1f} s)", chosen.error().message, seconds);
  const auto time = chosen->microseconds < 0 ? std::string{"not measured"}
                                             : fmt::format("{:.1f} us", chosen->microseconds);
  const auto kept =
      chosen->not_stored.empty() ? "" : fmt::format("; not cached: {}", chosen->not_stored);
  return fmt::format("plan of {}: {}, {} ({:.1f} s, {} candidates, {} compiled){}", graph.name,
                     chosen->plan.tag(), time, seconds, chosen->counts.candidates,
                     chosen->counts.compiled, kept);
}

} // namespace

cudnn::PlanPolicy policy_of(const CompileOptions& options) {
  return {.deterministic = options.deterministic,
          .tf32 = options.tf32,
          .candidates = measured_candidates};
}

struct PlanRegistry::Asked {
  std::string key;
  const cudnn::OperationGraph& graph;
  const cudnn::PlanPolicy& policy;
  std::optional<Result<TimedPlan>> found{};
  bool was_known = false; ///< from the cache on disk
};

Result<std::unique_ptr<PlanRegistry>> PlanRegistry::open(CudaDevice& device,
                                                         PlanRegistryOptions options) {
  TROUPE_TRY(const auto library, open_cudnn(library_places_of_process()));
  TROUPE_TRY(auto searcher, PlanSearcher::open(library, device));
  auto registry = std::make_unique<PlanRegistry>(std::move(searcher));
  registry->device_ = &device;
  registry->cache_.emplace(options.cache);
  registry->options_ = std::move(options);
  return registry;
}

/// Follows the XDG Base Directory Specification.
std::filesystem::path PlanRegistry::default_cache() {
  const auto* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache)
    return std::filesystem::path{cache} / "troupe" / "cudnn";
  const auto* const home = std::getenv("HOME");
  return (home && *home ? std::filesystem::path{home} / ".cache"
                        : std::filesystem::temp_directory_path()) /
         "troupe" / "cudnn";
}

PlanRegistry::PlanRegistry(cudnn::Target target)
    : PlanRegistry{std::make_unique<PlanSearcher>(std::move(target))} {}

PlanRegistry::PlanRegistry(std::unique_ptr<PlanSearcher> first) {
  searchers_.push_back(std::move(first));
}

/// Opens the searchers one by one: handles that are created concurrently delay each other.
void PlanRegistry::open_searchers(std::size_t wanted) {
  const auto cores = static_cast<std::size_t>(usable_cores().count());
  wanted = std::min({wanted, cores, std::size_t{options_.threads}});
  while (device_ && searchers_.size() < wanted) {
    auto searcher = PlanSearcher::open(target().library(), *device_);
    if (!searcher)
      return; // fewer searchers suffice
    searchers_.push_back(std::move(*searcher));
  }
}

void PlanRegistry::prepare(const std::vector<cudnn::OperationGraph>& graphs,
                           const cudnn::PlanPolicy& policy) {
  std::set<std::string> keys;
  std::vector<Asked> asked;
  for (const auto& graph : graphs)
    if (auto key = key_of(graph, policy); !plans_.contains(key) && keys.insert(key).second)
      asked.push_back({std::move(key), graph, policy});
  open_searchers(asked.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&](const PlanSearcher& searcher) {
    for (auto i = next++; i < asked.size(); i = next++)
      look_up(asked[i], searcher);
  };
  const auto start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(searchers_.size(), asked.size()); ++i)
      threads.emplace_back(work, std::cref(*searchers_[i]));
    work(*searchers_.front());
  }
  if (const auto known = std::ranges::count(asked, true, &Asked::was_known); known > 0)
    note(fmt::format("{} of {} plans were read from {} ({:.1f} s)", known, asked.size(),
                     cache_->folder().string(), seconds_since(start)));
  for (auto& one : asked)
    plans_.emplace(std::move(one.key), std::move(*one.found));
}

void PlanRegistry::look_up(Asked& asked, const PlanSearcher& searcher) {
  const auto start = Clock::now();
  const bool refused = cache_ && cache_->find_refusal(target(), asked.graph, asked.policy);
  auto chosen = searcher.choose(asked.graph, asked.policy, cache_ ? &*cache_ : nullptr, loading_);
  asked.was_known = chosen ? chosen->from_cache : refused;
  if (!asked.was_known)
    note(describe(asked.graph, chosen, seconds_since(start)));
  asked.found = std::move(chosen).map([&](cudnn::ChosenPlan found) {
    const double reckoned = reckon(asked.graph) * (found.plan.compiled() ? general_engine : 1);
    return TimedPlan{std::make_shared<const cudnn::Plan>(std::move(found.plan)), &searcher.target(),
                     found.microseconds >= 0 ? found.microseconds : reckoned};
  });
}

Result<TimedPlan> PlanRegistry::plan(const cudnn::OperationGraph& graph,
                                     const cudnn::PlanPolicy& policy) {
  prepare({graph}, policy);
  return plans_.at(key_of(graph, policy));
}

double PlanRegistry::reckon(const cudnn::OperationGraph& graph) const {
  return rates().microseconds(cudnn::traffic_of(graph));
}

void PlanRegistry::note(const std::string& line) {
  const std::lock_guard lock{saying_};
  if (options_.say && said_.insert(line).second)
    options_.say(line);
}

} // namespace troupe::gpu
