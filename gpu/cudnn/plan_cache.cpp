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

/// The version of the files' format; another number makes old files count as absent.
constexpr int version = 2;

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

/// A file's object, where it is of this format and key; else null.
nlohmann::json read_entry(const std::filesystem::path& path, const std::string& key) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto entry = nlohmann::json::parse(text, nullptr, false);
  const auto is = [&entry](const char* name, const nlohmann::json& value) {
    return entry.value(name, nlohmann::json()) == value;
  };
  return entry.is_object() && is("version", version) && is("key", key) ? std::move(entry) : nullptr;
}

Status write_entry(const std::filesystem::path& path, const nlohmann::json& entry) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error)
    return fail(Errc::io, "cannot make {}: {}", path.parent_path().string(), error.message());
  try {
    return write_file_atomically(path, entry.dump(1));
  } catch (const nlohmann::json::exception& none) { // text that is no UTF-8
    return fail(Errc::io, "cannot write {}: {}", path.string(), none.what());
  }
}

} // namespace

PlanCache::PlanCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

std::filesystem::path PlanCache::path_of(const Target& target, const OperationGraph& graph,
                                         const PlanPolicy& policy) const {
  return folder_ / (digest(key_of(target, graph, policy)).substr(0, 32) + ".json");
}

std::optional<ChosenPlan> PlanCache::find(const Target& target, const OperationGraph& graph,
                                          const PlanPolicy& policy) const {
  const auto entry = read_entry(path_of(target, graph, policy), key_of(target, graph, policy));
  if (!entry.is_object())
    return std::nullopt;
  const auto plan = entry.value("plan", nlohmann::json());
  const auto tag = entry.value("tag", nlohmann::json());
  const auto compiled = entry.value("compiled", nlohmann::json());
  const auto time = entry.value("microseconds", nlohmann::json());
  // cuDNN is not asked to survive damaged text.
  if (!plan.is_string() || !tag.is_string() || !compiled.is_boolean() || !time.is_number() ||
      entry.value("sha256", nlohmann::json()) != digest(plan.get<std::string>()))
    return std::nullopt;
  auto loaded = Plan::from_json(target, plan.get<std::string>(), tag.get<std::string>(),
                                compiled.get<bool>());
  if (!loaded)
    return std::nullopt;
  return ChosenPlan{
      .plan = std::move(*loaded), .microseconds = time.get<double>(), .from_cache = true};
}

Status PlanCache::store(const Target& target, const OperationGraph& graph, const PlanPolicy& policy,
                        const ChosenPlan& chosen) const {
  const auto plan = chosen.plan.json(target);
  if (!plan)
    return failure(plan.error());
  return write_entry(path_of(target, graph, policy), {{"version", version},
                                                      {"key", key_of(target, graph, policy)},
                                                      {"name", graph.name},
                                                      {"tag", chosen.plan.tag()},
                                                      {"compiled", chosen.plan.compiled()},
                                                      {"microseconds", chosen.microseconds},
                                                      {"sha256", digest(*plan)},
                                                      {"plan", *plan}});
}

std::optional<Error> PlanCache::find_refusal(const Target& target, const OperationGraph& graph,
                                             const PlanPolicy& policy) const {
  const auto entry = read_entry(path_of(target, graph, policy), key_of(target, graph, policy));
  if (!entry.is_object())
    return std::nullopt;
  const auto why = entry.value("refused", nlohmann::json());
  if (!why.is_string() || entry.value("nvrtc", nlohmann::json()) != target.library().nvrtc)
    return std::nullopt;
  return Error{Errc::unsupported, why.get<std::string>()};
}

Status PlanCache::store_refusal(const Target& target, const OperationGraph& graph,
                                const PlanPolicy& policy, const Error& refusal) const {
  return write_entry(path_of(target, graph, policy), {{"version", version},
                                                      {"key", key_of(target, graph, policy)},
                                                      {"name", graph.name},
                                                      {"nvrtc", target.library().nvrtc},
                                                      {"refused", refusal.message}});
}

} // namespace troupe::gpu::cudnn
