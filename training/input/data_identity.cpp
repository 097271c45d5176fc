#include "training/input/data_identity.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/json.hpp"
#include "training/model_card.hpp"

#include <nlohmann/json.hpp>

namespace troupe::training {

namespace {

using Json = nlohmann::json;
using Metadata = std::map<std::string, std::string>;

constexpr const char* samples_key = "samples";
constexpr const char* fingerprint_key = "data_fingerprint";

/// Values in the checkpoint and now.
using ThenAndNow = std::pair<std::string, std::string>;

ThenAndNow in_words(std::string_view format, const std::string& before, const std::string& now) {
  return {fmt::format(fmt::runtime(format), echoed(before)),
          fmt::format(fmt::runtime(format), echoed(now))};
}

/// Returns the first difference of two lists of classes, because whole lists may have thousands of
/// names.
ThenAndNow first_difference(const std::string& before, const std::string& now) {
  const auto a = parse_json(before).value_or(nullptr), b = parse_json(now).value_or(nullptr);
  if (!a.is_array() || a.size() != b.size())
    return in_words("the classes {}", before, now);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i])
      return in_words(fmt::format("a class {} named {{}}", i), a[i].dump(), b[i].dump());
  return in_words("the classes {}", before, now);
}

ThenAndNow differing(const std::string& key, const std::string& before, const std::string& now) {
  if (key == samples_key)
    return in_words("{} samples", before, now);
  if (key == normalization_key)
    return in_words("inputs normalized by {}", before, now);
  return key == classes_key ? first_difference(before, now)
                            : in_words("data with the fingerprint {}", before, now);
}

} // namespace

Metadata describe_data(const data::Dataset& training, const std::string& fingerprint) {
  // Folder names may be invalid UTF-8; the fingerprint still distinguishes them.
  const auto names =
      Json(training.class_names()).dump(-1, ' ', false, Json::error_handler_t::replace);
  return {{samples_key, std::to_string(training.size())},
          {classes_key, names},
          {fingerprint_key, fingerprint}};
}

Result<std::vector<std::string>> check_same_data(const ResumePoint& resume_point,
                                                 const Metadata& described) {
  if (resume_point.path.empty())
    return {};
  const auto& checkpoint = resume_point.state->header();
  std::vector<std::string> missing;
  for (const auto* key : {samples_key, classes_key, fingerprint_key, normalization_key}) {
    const auto before = checkpoint.metadata.find(key);
    const auto& now = described.at(key);
    if (before == checkpoint.metadata.end()) {
      if (key != normalization_key) // resume.cpp checks the key that such a checkpoint has instead
        missing.emplace_back(key);
    } else if (before->second != now) {
      const auto [then, today] = differing(key, before->second, now);
      return fail(Errc::invalid_input,
                  "the checkpoint of step {} was trained on {}, but the data set has {}; a run can "
                  "resume only on the same data: to train on the new data, start another run "
                  "(run.name) with model.pretrained: {}",
                  checkpoint.step, then, today, escaped(resume_point.path.string()));
    }
  }
  if (missing.empty())
    return {};
  return std::vector{fmt::format("the checkpoint of step {} does not record its training data (it "
                                 "lacks {}), so it is unknown whether the data are the same",
                                 checkpoint.step, fmt::join(missing, ", "))};
}

} // namespace troupe::training
