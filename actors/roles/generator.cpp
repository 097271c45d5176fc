#include "actors/roles/generator.hpp"

#include "actors/cluster/carried_error.hpp"
#include "actors/roles/traced.hpp"
#include "engine/inference/saved_model.hpp"
#include "engine/inference/training_sample.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace troupe::actors {

generator_actor::behavior_type GeneratorState::make_behavior() {
  return traced<generator_actor>(
      setup_.row,
      [this](atom::snapshot, const StatePiecePtr& piece) { return parameters_.add(*piece); },
      [this](atom::generate, std::int64_t steps) { return begin(steps); },
      [this](atom::tick) { advance(); });
}

caf::result<GeneratedRecordPtr> GeneratorState::begin(std::int64_t steps) {
  record_ = {.step = steps, .prompt = setup_.config.train.sample.prompt};
  auto text = read(steps);
  if (!text)
    return carry(text.error());
  text_ = *std::move(text);
  answer_ = self_->make_response_promise<GeneratedRecordPtr>();
  self_->send(self_, atom::tick_v);
  return answer_;
}

/// The copy of the parameters lives until the decoder has one in its own layout.
Result<engine::Continuation> GeneratorState::read(std::int64_t steps) {
  const engine::SavedModel model{.file = fmt::format("the parameters of step {}", steps),
                                 .config = engine::sample_config(setup_.config),
                                 .card = {},
                                 .weights = parameters_.take()};
  return engine::Continuation::begin(model, engine::sample_options(setup_.config, steps),
                                     [this](std::string_view piece) -> Status {
                                       record_.text += piece;
                                       return {};
                                     });
}

void GeneratorState::advance() {
  const auto goes_on = text_->advance();
  if (goes_on && *goes_on)
    return self_->send(self_, atom::tick_v);
  if (goes_on)
    answer_.deliver(end());
  else
    answer_.deliver(carry(goes_on.error()));
  text_.reset(); // with all its memory
}

GeneratedRecordPtr GeneratorState::end() {
  record_.time = std::chrono::system_clock::now();
  record_.tokens = std::ssize(text_->result().tokens);
  record_.seconds = text_->result().seconds;
  return std::make_shared<const metrics::GeneratedRecord>(std::exchange(record_, {}));
}

} // namespace troupe::actors
