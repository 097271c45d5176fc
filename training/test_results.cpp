#include "training/test_results.hpp"

#include <fmt/format.h>

#include <charconv>

namespace troupe::training {

namespace {

constexpr const char* loss_key = "test_loss";
constexpr const char* accuracy_key = "test_accuracy";

std::optional<double> number(const std::map<std::string, std::string>& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end())
    return std::nullopt;
  double value = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto parsed = std::from_chars(found->second.data(), end, value);
  return parsed.ec == std::errc{} && parsed.ptr == end ? std::optional{value} : std::nullopt;
}

} // namespace

std::map<std::string, std::string> to_metadata(const TestResults& results) {
  std::map<std::string, std::string> metadata;
  if (results.loss)
    metadata[loss_key] = fmt::format("{}", *results.loss);
  if (results.accuracy)
    metadata[accuracy_key] = fmt::format("{}", *results.accuracy);
  return metadata;
}

TestResults test_results_of(const std::map<std::string, std::string>& metadata) {
  return {number(metadata, loss_key), number(metadata, accuracy_key)};
}

} // namespace troupe::training
