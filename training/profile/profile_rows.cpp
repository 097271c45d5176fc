#include "training/profile/profile_rows.hpp"

#include "nn/cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

namespace troupe::training {

namespace {

double bytes_of(const Graph& graph, const Node& node, const StepTime& step) {
  if (!step.tensors)
    return nn::cost_of(graph, node).bytes;
  double bytes = 0;
  for (const auto id : *step.tensors)
    bytes += static_cast<double>(nn::bytes_of(graph[id]));
  return bytes;
}

std::string shapes_of(const Graph& graph, const Node& node) {
  return fmt::format("{} -> {}", graph[node.inputs[0]].shape.to_string(),
                     graph[node.outputs[0]].shape.to_string());
}

} // namespace

double least_seconds(const DeviceLimits& limits, double operations, double bytes) {
  const auto bandwidth =
      bytes <= limits.cache_bytes && limits.cache > 0 ? limits.cache : limits.memory;
  if ((operations > 0 && limits.operations <= 0) || bandwidth <= 0)
    return 0;
  const auto computing = operations > 0 ? operations / limits.operations : 0;
  return std::max(computing, bytes / bandwidth);
}

void ProfileRows::add(const PassTimes& times) {
  const auto& graph = *times.graph;
  for (const auto& step : times.steps) {
    ProfileRow row{
        .name = step.name, .calls = 1, .seconds = std::chrono::duration<double>(step.time).count()};
    if (step.node) {
      const auto& node = graph.nodes[*step.node];
      row.shapes = by_shape_ ? shapes_of(graph, node) : "";
      row.operations = nn::cost_of(graph, node).operations;
      row.bytes = bytes_of(graph, node, step);
    }
    add(row);
  }
}

void ProfileRows::add(const std::string& name, double seconds, double bytes) {
  add(ProfileRow{.name = name, .calls = 1, .seconds = seconds, .bytes = bytes});
}

void ProfileRows::add(const ProfileRow& step) {
  auto& row = rows_[{step.name, step.shapes}];
  row.name = step.name;
  row.shapes = step.shapes;
  row.calls += step.calls;
  row.seconds += step.seconds;
  row.operations += step.operations;
  row.bytes += step.bytes;
  row.least_seconds += least_seconds(limits_, step.operations, step.bytes);
}

std::vector<ProfileRow> ProfileRows::rows(int steps, double seconds) const {
  std::vector<ProfileRow> all;
  all.reserve(rows_.size() + 1);
  ProfileRow rest{.name = "between ops", .seconds = seconds};
  for (auto [key, row] : rows_) {
    for (auto* const value :
         {&row.calls, &row.seconds, &row.operations, &row.bytes, &row.least_seconds})
      *value /= steps;
    rest.seconds -= row.seconds;
    all.push_back(std::move(row));
  }
  std::ranges::stable_sort(all, std::greater{}, &ProfileRow::seconds);
  all.push_back(std::move(rest));
  return all;
}

} // namespace troupe::training
