/// GENERATOR: writes samples of text from a language model in training. It works on a copy of the
/// parameters, and shares nothing else with training.
#pragma once

#include "actors/interfaces.hpp"
#include "core/config/config.hpp"
#include "inference/continuation.hpp"
#include "metrics/trace.hpp"
#include "training/state/model_state.hpp"
#include "training/state/state_assembler.hpp"

#include <memory>
#include <optional>

namespace troupe::actors {

struct GeneratorSetup {
  std::shared_ptr<const training::ModelState> state; ///< of rank 0: has the layout
  Config config;                                     ///< of the job
  metrics::Track row = {};                           ///< of the actor in the timeline
};

/// Generates one token per message, so that ending the actor waits for one token at most.
class GeneratorState {
public:
  static inline const char* name = "generator";

  GeneratorState(generator_actor::pointer self, GeneratorSetup setup)
      : self_{self}, setup_{std::move(setup)}, parameters_{plan(), plan().parameter_chunks()} {}
  GeneratorState(const GeneratorState&) = delete;
  GeneratorState& operator=(const GeneratorState&) = delete;
  generator_actor::behavior_type make_behavior();

private:
  const training::StatePlan& plan() const { return setup_.state->layout().whole(); }
  caf::result<GeneratedRecordPtr> begin(std::int64_t steps);
  Result<inference::Continuation> read(std::int64_t steps);
  void go_on();
  void advance();

  generator_actor::pointer self_;
  GeneratorSetup setup_;
  training::StateAssembler parameters_;
  // The sample in progress.
  metrics::GeneratedRecord record_;
  std::optional<inference::Continuation> text_;
  caf::typed_response_promise<GeneratedRecordPtr> answer_;
};

} // namespace troupe::actors
