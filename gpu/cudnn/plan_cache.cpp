#include "plan_cache.hpp"

#include "troupe/core/atomic_file.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/sha256.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <utility>

namespace troupe::gpu::cudnn {

namespace {

/// Of the file's format; another number makes old files count as absent.
constexpr int version = 1;

std::string key_of(const Target& target, const OperationGraph& graph, const PlanPolicy& policy) {
  return fmt::format("{} | deterministic {}, tf32 {}, workspace {} | {}", target.key(),
                     policy.deterministic, policy.tf32, policy.workspace_bytes,
                     graph.canonical_text());
}

std::string digest(const std::string& text) {
  Sha256 sha;
  sha.update(text);
  return sha.hex_digest();
}

} // namespace

PlanCache::PlanCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

std::filesystem::path PlanCache::path_of(const Target& target, const OperationGraph& graph,
                                         const PlanPolicy& policy) const {
  return folder_ / (digest(key_of(target, graph, policy)).substr(0, 32) + ".json");
}

std::optional<ChosenPlan> PlanCache::find(const Target& target, const OperationGraph& graph,
                                          const PlanPolicy& policy) const {
  std::ifstream file(path_of(target, graph, policy), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto entry = nlohmann::json::parse(text, nullptr, false);
  if (!entry.is_object() || entry.value("version", nlohmann::json()) != version ||
      entry.value("key", nlohmann::json()) != key_of(target, graph, policy))
    return std::nullopt;
  const auto plan = entry.value("plan", nlohmann::json());
  const auto tag = entry.value("tag", nlohmann::json());
  const auto time = entry.value("microseconds", nlohmann::json());
  // cuDNN is not asked to survive damaged text.
  if (!plan.is_string() || !tag.is_string() || !time.is_number() ||
      entry.value("sha256", nlohmann::json()) != digest(plan.get<std::string>()))
    return std::nullopt;
  auto loaded = Plan::from_json(target, plan.get<std::string>(), tag.get<std::string>());
  if (!loaded)
    return std::nullopt;
  return ChosenPlan{std::move(*loaded), time.get<double>()};
}

Status PlanCache::store(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
                        const ChosenPlan& chosen) const {
  const auto plan = chosen.plan.json(target);
  if (!plan)
    return failure(plan.error());
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error)
    return fail(Errc::io, "cannot make {}: {}", folder_.string(), error.message());
  const nlohmann::json entry = {{"version", version},
                                {"key", key_of(target, graph, policy)},
                                {"name", graph.name},
                                {"tag", chosen.plan.tag()},
                                {"microseconds", chosen.microseconds},
                                {"sha256", digest(*plan)},
                                {"plan", *plan}};
  return write_file_atomically(path_of(target, graph, policy), entry.dump(1));
}

} // namespace troupe::gpu::cudnn
