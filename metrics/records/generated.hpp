/// The record of a text that a language model generates during training: a line of samples.jsonl.
#pragma once

#include "metrics/records/field.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>

namespace troupe::metrics {

/// Text that a language model generates from a prompt during training, to show its progress.
struct GeneratedRecord {
  std::int64_t step = 0;                           ///< steps trained so far
  std::chrono::system_clock::time_point time = {}; ///< when the text was complete
  std::string prompt = {}, text = {};              ///< text: without the prompt
  std::int64_t tokens = 0;                         ///< in the text
  double seconds = 0;                              ///< to generate them
};

template <>
inline constexpr auto fields_of<GeneratedRecord> = std::tuple{
    field("step", &GeneratedRecord::step),     field("time", &GeneratedRecord::time),
    field("prompt", &GeneratedRecord::prompt), field("text", &GeneratedRecord::text),
    field("tokens", &GeneratedRecord::tokens), field("seconds", &GeneratedRecord::seconds)};

} // namespace troupe::metrics
