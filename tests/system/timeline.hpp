/// Reads the file that --trace writes.
#pragma once

#include "tests/system/experiment.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace troupe::testing {

/// The spans of a timeline, by "group/row".
class Timeline {
public:
  explicit Timeline(const std::filesystem::path& path) {
    auto text = read_bytes(path);
    if (!text.ends_with("]\n")) // its process was killed
      text = text.substr(0, text.rfind(",\n")) + "]";
    std::map<int, std::string> groups, rows;
    for (auto& event : nlohmann::json::parse(text)) {
      if (event["name"] == "process_name")
        groups[event["pid"]] = event["args"]["name"];
      else if (event["name"] == "thread_name")
        rows[event["tid"]] =
            groups.at(event["pid"]) + "/" + event["args"]["name"].get<std::string>();
      else if (event["ph"] == "X")
        spans_[rows.at(event["tid"])].push_back(event);
    }
  }

  std::set<std::string> rows() const {
    std::set<std::string> names;
    for (const auto& [name, spans] : spans_)
      names.insert(name);
    return names;
  }
  /// Returns the spans of one kind, ordered by start time.
  std::vector<nlohmann::json> spans(const std::string& row, std::string_view kind) const {
    std::vector<nlohmann::json> found;
    if (const auto all = spans_.find(row); all != spans_.end())
      std::ranges::copy_if(all->second, std::back_inserter(found),
                           [&](const auto& span) { return span["cat"] == kind; });
    std::ranges::stable_sort(found, {},
                             [](const auto& s) { return s["ts"].template get<double>(); });
    return found;
  }

private:
  std::map<std::string, std::vector<nlohmann::json>> spans_;
};

/// Returns how much of [begin, end] is covered by spans that do not overlap.
inline double covered(const std::vector<nlohmann::json>& spans, double begin, double end) {
  double sum = 0;
  for (const auto& span : spans) {
    const double from = span["ts"], to = from + span["dur"].get<double>();
    sum += std::max(0.0, std::min(end, to) - std::max(begin, from));
  }
  return sum;
}

} // namespace troupe::testing
