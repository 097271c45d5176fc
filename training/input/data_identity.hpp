/// On what data a run was trained, so that it does not go on with others unnoticed.
#pragma once

#include "data/image_dataset.hpp"
#include "training/resume.hpp"

#include <map>
#include <string>
#include <vector>

namespace troupe::training {

/// What a checkpoint records of the training data: the number of samples, the classes' names (a
/// JSON list), and the fingerprint.
std::map<std::string, std::string> describe_data(const data::Dataset& training,
                                                 const std::string& fingerprint);

/// Whether a run may go on with the data that `described` (describe_data, and the normalization of
/// describe_model) tells of; what the user should know, where the checkpoint does not say all of
/// it. Errors: invalid_input, with both values.
Result<std::vector<std::string>>
check_same_data(const ResumePoint& resume_point,
                const std::map<std::string, std::string>& described);

} // namespace troupe::training
