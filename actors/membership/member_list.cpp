#include "actors/membership/member_list.hpp"

#include "core/config/schema.hpp"
#include "core/fail.hpp"
#include "core/sha256.hpp"
#include "nn/config_check.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <compare>
#include <functional>
#include <optional>
#include <set>

namespace troupe::actors {

namespace {

/// Sections and keys that each node may set for itself.
constexpr std::array<std::string_view, 12> own_keys = {
    "checkpoint.keep", "checkpoint.resume", "cluster.",  "data.loader_threads",
    "data.prefetch",   "data.residency",    "data.root", "devices.",
    "metrics.",        "model.pretrained",  "run.name",  "run.output"};
/// Keys that only the leader needs, if it writes the checkpoints for all.
constexpr std::array<std::string_view, 2> writers_keys = {"checkpoint.best", "checkpoint.every"};

bool is_own(std::string_view key, bool writes) {
  return (!writes && std::ranges::count(writers_keys, key) > 0) ||
         std::ranges::any_of(own_keys, [key](std::string_view own) {
           return own.ends_with('.') ? key.starts_with(own) : key == own;
         });
}

/// Shortens a value: a list of thousands of layers would make a message too large to send.
std::string in_short(const std::string& value) {
  constexpr std::size_t most = 200;
  if (value.size() <= most)
    return value;
  Sha256 digest;
  digest.update(value);
  return fmt::format("{}... ({} characters, SHA-256 {})", value.substr(0, most / 2), value.size(),
                     digest.hex_digest());
}

using Nodes = std::vector<NodeInfo>;

/// A divided state whose last step at least one rank is known to have applied.
struct Candidate {
  std::int64_t step = -1;
  std::int32_t shards = 0;

  auto operator<=>(const Candidate&) const = default;
};

/// Returns the first of the nodes that have the latest whole state; the end if there are no nodes.
Nodes::const_iterator latest_whole(const Nodes& nodes) {
  return std::ranges::max_element(nodes, {}, [](const NodeInfo& node) { return node.offer.step; });
}

std::set<Candidate, std::greater<>> candidates(const Nodes& nodes) {
  std::set<Candidate, std::greater<>> found;
  for (const auto& node : nodes)
    for (const auto& retained : node.offer.parts)
      if (retained.applied)
        found.insert({retained.step, retained.shards});
  return found;
}

std::vector<std::int32_t> held_by(const NodeInfo& node, const Candidate& candidate) {
  for (const auto& retained : node.offer.parts)
    if (retained.step == candidate.step && retained.shards == candidate.shards)
      return retained.retained;
  return {};
}

/// Adds the node's shards to `there`. Returns whether one of them is new.
bool adds_shards(const NodeInfo& node, const Candidate& state, std::set<std::int32_t>& there) {
  const auto before = there.size();
  for (const auto shard : held_by(node, state))
    there.insert(shard);
  return there.size() > before;
}

/// Returns the first shard that no node has; none: all exist.
std::optional<std::int32_t> missing(const Nodes& nodes, const Candidate& candidate) {
  std::set<std::int32_t> there;
  for (const auto& node : nodes)
    adds_shards(node, candidate, there);
  for (std::int32_t shard = 0; shard < candidate.shards; ++shard)
    if (!there.contains(shard))
      return shard;
  return std::nullopt;
}

/// Returns the latest state that the nodes hold together; none: a node has a later one whole.
std::optional<Candidate> furthest(const Nodes& nodes) {
  const auto whole = latest_whole(nodes)->offer.step;
  for (const auto& candidate : candidates(nodes))
    if (candidate.step >= whole && !missing(nodes, candidate))
      return candidate;
  return std::nullopt;
}

} // namespace

std::map<std::string, std::string> shared_settings(const Config& config) {
  auto copy = config;
  std::map<std::string, std::string> settings;
  for (const auto& key : config_keys(copy, nn::catalogue_of(config)))
    if (!is_own(key.path, config.checkpoint.is_sharded()))
      settings.emplace(key.path, in_short(config_value_text(key)));
  return settings;
}

Status MemberList::check(const NodeInfo& node) const {
  if (!nodes_.empty())
    TROUPE_TRY(check_same_job(node));
  if (std::ranges::count(nodes_, node.address, &NodeInfo::address) > 0)
    return fail(Errc::invalid_input,
                "{} already takes part in the job; give each node a different cluster.listen or "
                "cluster.listen.advertise",
                node.address);
  return {};
}

void MemberList::admit(const NodeInfo& node, std::ptrdiff_t place) {
  nodes_.insert(nodes_.begin() + place, node);
}

Status MemberList::check_same_job(const NodeInfo& node) const {
  const auto& leader = nodes_.front();
  if (node.version != leader.version)
    return fail(Errc::invalid_input,
                "{} runs troupe {}, the leader {} runs {}; use the same version on all nodes",
                node.address, node.version, leader.address, leader.version);
  std::string differences;
  for (const auto& [key, value] : leader.job)
    if (const auto other = node.job.find(key); other == node.job.end() || other->second != value)
      differences += fmt::format("\n  {}: {} here, {} at the leader", key,
                                 other == node.job.end() ? "nothing" : other->second, value);
  if (!differences.empty())
    return fail(Errc::invalid_input, "the config of {} differs from that of the leader {}:{}",
                node.address, leader.address, differences);
  return {};
}

Status MemberList::check_same_data(const NodeInfo& node, const training::TrainingData& job) {
  if (node.workers == 0 || node.training == job)
    return {};
  const auto in_words = [](const training::TrainingData& data) {
    return fmt::format("{} training samples with the fingerprint {}", data.samples,
                       data.fingerprint);
  };
  return fail(Errc::data,
              "{} has {}, and the job has {}: data.root must contain the same files on every node",
              node.address, in_words(node.training), in_words(job));
}

void MemberList::come_again(const NodeInfo& node) {
  *std::ranges::find(nodes_, node.address, &NodeInfo::address) = node;
  absent_.erase(node.address);
}

void MemberList::remove(std::string_view address) {
  std::erase_if(nodes_, [address](const NodeInfo& node) { return node.address == address; });
  std::erase_if(absent_, [address](const std::string& absent) { return absent == address; });
}

std::string MemberList::waiting_for() const {
  if (complete())
    return {};
  if (has_enough())
    return fmt::format("waiting for {} to rejoin", fmt::join(absent_, ", "));
  const auto missing = min_nodes_ - std::ssize(nodes_);
  std::string there;
  for (const auto& node : nodes_)
    there += (there.empty() ? "" : ", ") + node.address;
  return fmt::format("waiting for {} more node{} ({} of {}: {})", missing, missing == 1 ? "" : "s",
                     nodes_.size(), min_nodes_, there);
}

training::GenerationRecord MemberList::generation(std::int64_t number, std::string secret,
                                                  std::int64_t slices) const {
  const auto source = latest_whole(nodes_);
  training::GenerationRecord generation{.number = number,
                                        .nodes = {},
                                        .secret = std::move(secret),
                                        .slices = slices,
                                        .step = std::max<std::int64_t>(0, source->offer.step),
                                        .source =
                                            static_cast<std::int32_t>(source - nodes_.begin())};
  std::int32_t rank = 0;
  for (const auto& node : nodes_) {
    generation.nodes.push_back(
        {.address = node.address,
         .host = node.host,
         .data = node.data,
         .first_rank = rank,
         .workers = node.workers,
         .lacks_state = source->offer.travels && node.offer.step != source->offer.step,
         .process = node.process});
    rank += node.workers;
  }
  choose_state(generation);
  return generation;
}

std::vector<NodeInfo> MemberList::by_need(const Nodes& nodes) {
  if (nodes.empty())
    return {};
  const auto state = furthest(nodes);
  const auto whole = latest_whole(nodes);
  std::set<std::int32_t> there;
  Nodes needed, others;
  for (auto node = nodes.begin(); node != nodes.end(); ++node) {
    const bool is_needed = state ? adds_shards(*node, *state, there) : node == whole;
    (is_needed || node == nodes.begin() ? needed : others).push_back(*node);
  }
  needed.insert(needed.end(), others.begin(), others.end());
  return needed;
}

std::int64_t MemberList::furthest_step(const Nodes& nodes) {
  if (nodes.empty())
    return -1;
  if (const auto together = furthest(nodes))
    return together->step;
  return latest_whole(nodes)->offer.step;
}

void MemberList::choose_state(training::GenerationRecord& generation) const {
  const auto state = furthest(nodes_);
  if (!state || state->step < generation.step)
    return;
  generation.step = state->step;
  generation.shards = state->shards;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    generation.nodes[i].lacks_state = false;
    generation.nodes[i].retained = held_by(nodes_[i], *state);
  }
}

std::string MemberList::lost(const training::GenerationRecord& generation) const {
  const auto offered = candidates(nodes_);
  if (generation.shards > 0 || offered.empty() || offered.begin()->step <= generation.step)
    return {};
  const auto& furthest = *offered.begin();
  const auto shard = missing(nodes_, furthest);
  return fmt::format(
      "shard {} of {} of the state after {} steps is lost: the job {}", shard.value_or(0) + 1,
      furthest.shards, furthest.step,
      generation.step > 0
          ? fmt::format("continues from the last checkpoint, at step {}", generation.step)
          : "starts over, because there is no checkpoint");
}

} // namespace troupe::actors
