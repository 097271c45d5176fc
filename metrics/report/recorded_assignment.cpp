#include "metrics/report/recorded_assignment.hpp"

#include "core/fail.hpp"
#include "metrics/report/detail/json_lines.hpp"
#include "metrics/report/run_json.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::metrics {

namespace {

/// Adds the line's assignment, if any, to `recorded`. Returns false if it does not have `slices`
/// slices in all or a rank has fewer than `least`.
bool add_slice_assignment(std::string_view line, std::int64_t slices, int least,
                          std::map<std::int64_t, std::vector<int>>& recorded) {
  const auto step = parse_step(line);
  if (!step || step->slice_assignment.empty())
    return true;
  const auto& counts = step->slice_assignment;
  if (step->step < 0 || std::ranges::min(counts) < least ||
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) != slices)
    return false;
  recorded[step->step] = counts;
  return true;
}

} // namespace

Result<std::map<std::int64_t, std::vector<int>>>
read_slice_counts(const std::filesystem::path& events, std::int64_t slices, int least) {
  if (!std::filesystem::exists(events))
    return fail(Errc::invalid_input, "{}: no such file (data.replay_assignment)", events.string());
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
