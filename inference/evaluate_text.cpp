#include "inference/evaluate_text.hpp"

#include "core/fail.hpp"
#include "data/tokenizer/open.hpp"
#include "data/tokens/token_adapter.hpp"
#include "inference/predict.hpp"
#include "nn/models/input.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::inference {

namespace {

/// Returns the number of bytes by id.
Result<std::vector<std::int64_t>> bytes_of_ids(const data::Tokenizer& tokenizer) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(tokenizer.vocabulary_size()));
  std::string bytes;
  for (std::size_t id = 0; id < lengths.size(); ++id) {
    const auto token = static_cast<data::TokenId>(id);
    if (token == tokenizer.end_of_document() || !tokenizer.decode({&token, 1}, bytes))
      continue; // An unused id has no bytes: it occurs in no text.
    lengths[id] = std::ssize(bytes);
    bytes.clear();
  }
  return lengths;
}

/// Returns the number of bytes in the text of the windows' targets.
Result<std::int64_t> bytes_of_targets(const data::TokenDataset& windows,
                                      const data::Tokenizer& tokenizer) {
  TROUPE_TRY(const auto lengths, bytes_of_ids(tokenizer));
  std::vector<data::TokenId> window(static_cast<std::size_t>(windows.windows().length) + 1);
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < windows.size(); ++i) {
    TROUPE_TRY(windows.read(i, window));
    for (const auto id : std::span{window}.subspan(1)) {
      if (id < 0 || static_cast<std::size_t>(id) >= lengths.size())
        return fail(Errc::data, "the tokenizer has no token {}", id);
      bytes += lengths[static_cast<std::size_t>(id)];
    }
  }
  return bytes;
}

/// The sum must include every window.
Status refuse_unreadable(const SamplePrediction& prediction) {
  return prediction.error ? Status{failure(*prediction.error)} : Status{};
}

} // namespace

Result<TextScore> evaluate_text(const SavedModel& model, const training::SayLine& say) {
  if (nn::input_spec(model.config).vocabulary == 0)
    return fail(Errc::invalid_input, "{} does not read tokens; use `troupe predict`",
                model.config.model.name);
  const auto& data = model.config.data;
  TROUPE_TRY(const auto tokenizer, data::open_tokenizer(data.tokenizer.path, data.tokenizer.split));
  TROUPE_TRY(const auto windows, data::open_text(data, data::Split::test));
  TROUPE_TRY(data::check_vocabulary(windows->file().traits().vocabulary_size, model.config));
  TROUPE_TRY(const auto bytes, bytes_of_targets(*windows, *tokenizer));
  const auto adapter = std::make_shared<const data::TokenAdapter>(windows);
  auto used = model;
  auto& batch = used.config.data.eval_batch_size;
  batch = std::clamp<std::int64_t>(windows->size(), 1, batch);
  TROUPE_TRY(const auto predictor, Predictor::create(used, *adapter, say));
  const auto begin = std::chrono::steady_clock::now();
  TROUPE_TRY(const auto score, predict(*predictor, adapter, 0, refuse_unreadable));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return TextScore{.windows = windows->size(),
                   .tokens = score.counted,
                   .bytes = bytes,
                   .loss_sum = score.loss_sum,
                   .seconds = time.count()};
}

} // namespace troupe::inference
