#include "actors/roles/generator.hpp"

#include "actors/caf_error.hpp"
#include "actors/resume_in.hpp"
#include "actors/roles/traced.hpp"
#include "inference/saved_model.hpp"
#include "training/sampling/training_sample.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace troupe::actors {

generator_actor::behavior_type GeneratorState::make_behavior() {
  return traced<generator_actor>(
      setup_.row,
      [this](atom::snapshot, const StateChunkPtr& chunk) {
        return parameters_.add(chunk->index, chunk->values.data());
      },
      [this](atom::generate, std::int64_t steps) { return begin(steps); },
      [](atom::done, const FollowUpPtr& then) { (*then)(); });
}

caf::result<GeneratedRecordPtr> GeneratorState::begin(std::int64_t steps) {
  record_ = {.step = steps, .prompt = setup_.config.train.sample.prompt};
  auto text = read(steps);
  if (!text)
    return to_caf_error(text.error());
  text_ = *std::move(text);
  answer_ = self_->make_response_promise<GeneratedRecordPtr>();
  go_on();
  return answer_;
}

/// The copy of the parameters lives until the decoder has made one in its own layout.
Result<inference::Continuation> GeneratorState::read(std::int64_t steps) {
  const inference::SavedModel model{.file = fmt::format("the parameters of step {}", steps),
                                    .config = training::sample_config(setup_.config),
                                    .card = {},
                                    .weights = state_in_memory(parameters_.take())};
  return inference::Continuation::begin(model, training::sample_options(setup_.config, steps),
                                        [this](std::string_view chunk) -> Status {
                                          record_.text += chunk;
                                          return {};
                                        });
}

void GeneratorState::go_on() {
  resume_in(generator_actor{self_}, [this] { advance(); });
}

void GeneratorState::advance() {
  const auto goes_on = text_->advance();
  if (goes_on && *goes_on)
    return go_on();
  if (goes_on) {
    record_.time = std::chrono::system_clock::now();
    record_.tokens = std::ssize(text_->result().tokens);
    record_.seconds = text_->result().seconds;
    answer_.deliver(GeneratedRecordPtr{
        std::make_shared<const metrics::GeneratedRecord>(std::exchange(record_, {}))});
  } else {
    answer_.deliver(to_caf_error(goes_on.error()));
  }
  text_.reset(); // frees all its memory
}

} // namespace troupe::actors
