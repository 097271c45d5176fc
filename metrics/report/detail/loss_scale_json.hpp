/// Adds the members of runs with loss scaling, to a step or a summary.
#pragma once

#include "metrics/report/detail/json_values.hpp"

namespace troupe::metrics {

template <class Record>
void add_loss_scale(OrderedJson& object, const Record& record) {
  if (!record.loss_scale)
    return;
  object["loss_scale"] = *record.loss_scale;
  object["skipped_steps"] = record.skipped_steps;
  object["loss_scale_growths"] = record.scale_growths;
}

} // namespace troupe::metrics
