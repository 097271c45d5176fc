#include "inference/generate.hpp"

#include "core/fail.hpp"

namespace troupe::inference {

Result<Generated> generate(const SavedModel& model, const training::GenerateOptions& options,
                           const TakeText& take, const training::SayLine& say) {
  TROUPE_TRY(auto text, Continuation::begin(model, options, take, say));
  for (bool goes_on = true; goes_on;) {
    TROUPE_TRY(goes_on, text.advance());
  }
  return text.result();
}

} // namespace troupe::inference
