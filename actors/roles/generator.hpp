/// GENERATOR: what a language model writes by now, as it is trained. It has a copy of the
/// parameters while it writes, and nothing else of what trains.
#pragma once

#include "actors/interfaces.hpp"
#include "core/config/config.hpp"
#include "inference/continuation.hpp"
#include "metrics/trace.hpp"
#include "training/state/gathered_parameters.hpp"

#include <memory>
#include <optional>

namespace troupe::actors {

struct GeneratorSetup {
  std::shared_ptr<const training::ModelState> state; ///< rank 0's: knows the layout
  Config config;                                     ///< of the job
  metrics::Track row = {};                           ///< of the actor in the timeline
};

/// A message for each token, so that whoever ends it waits for one at most.
class GeneratorState {
public:
  static inline const char* name = "generator";

  GeneratorState(generator_actor::pointer self, GeneratorSetup setup)
      : self_{self}, setup_{std::move(setup)}, parameters_{setup_.state} {}
  GeneratorState(const GeneratorState&) = delete;
  GeneratorState& operator=(const GeneratorState&) = delete;
  generator_actor::behavior_type make_behavior();

private:
  caf::result<GeneratedRecordPtr> begin(std::int64_t steps);
  Result<inference::Continuation> read(std::int64_t steps);
  void advance();
  GeneratedRecordPtr end();

  generator_actor::pointer self_;
  GeneratorSetup setup_;
  training::GatheredParameters parameters_;
  // Of the sample that is being written.
  metrics::GeneratedRecord record_;
  std::optional<inference::Continuation> text_;
  caf::typed_response_promise<GeneratedRecordPtr> answer_;
};

} // namespace troupe::actors
