#include "metrics/report/recorded_assignment.hpp"

#include "core/fail.hpp"
#include "core/json.hpp"
#include "metrics/report/detail/json_lines.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

namespace troupe::metrics {

namespace {

/// Empty if the line contains no assignment.
std::vector<int> slice_assignment_of(const nlohmann::json& line) {
  const auto* const key = line.contains("slice_assignment") ? "slice_assignment" : "dealing";
  if (!line.is_object() || !line.contains(key) || !line.at(key).is_array())
    return {};
  std::vector<int> counts;
  for (const auto& count : line.at(key))
    counts.push_back(count.is_number_unsigned() ? count.get<int>() : -1);
  return counts;
}

/// Adds the line's assignment, if any, to `recorded`. Returns false if it does not have `slices`
/// slices in all or a rank has fewer than `least`.
bool add_slice_assignment(std::string_view text, std::int64_t slices, int least,
                          std::map<std::int64_t, std::vector<int>>& recorded) {
  const auto line = parse_json(text).value_or(nullptr);
  const auto counts = slice_assignment_of(line);
  if (counts.empty())
    return true;
  const bool has_step = line.contains("step") && line.at("step").is_number_unsigned();
  if (!has_step || std::ranges::min(counts) < least ||
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) != slices)
    return false;
  recorded[line.at("step")] = counts;
  return true;
}

} // namespace

Result<std::map<std::int64_t, std::vector<int>>>
read_slice_counts(const std::filesystem::path& events, std::int64_t slices, int least) {
  if (!std::filesystem::exists(events))
    return fail(Errc::invalid_input, "{}: no such file (data.recorded_dealing)", events.string());
  std::map<std::int64_t, std::vector<int>> recorded;
  std::int64_t number = 0;
  bool sound = true;
  for_each_line(events, [&](std::string_view text) {
    ++number;
    return sound = add_slice_assignment(text, slices, least, recorded);
  });
  if (!sound)
    return fail(Errc::data,
                "{}:{}: the recorded assignment does not match the {} slices of this job{}",
                events.string(), number, slices, least > 0 ? ", with at least one per worker" : "");
  return recorded;
}

} // namespace troupe::metrics
