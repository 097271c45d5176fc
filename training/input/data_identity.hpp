/// Identifies a run's training data, so that a resumed run does not use other data unnoticed.
#pragma once

#include "data/image_dataset.hpp"
#include "training/resume.hpp"

#include <map>
#include <string>
#include <vector>

namespace troupe::training {

/// Returns the metadata that a checkpoint records of the training data: the number of samples, the
/// class names (a JSON list), and the fingerprint.
std::map<std::string, std::string> describe_data(const data::Dataset& training,
                                                 const std::string& fingerprint);

/// Checks a checkpoint against `described`: describe_data, and the normalization of describe_model.
/// Returns a warning for the user if the checkpoint does not record all of it. Errors:
/// invalid_input, with both values.
Result<std::vector<std::string>>
check_same_data(const ResumePoint& resume_point,
                const std::map<std::string, std::string>& described);

} // namespace troupe::training
