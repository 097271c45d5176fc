/// Small language models that learn a text of this tree, and commands that use them.
#pragma once

#include "tests/system/experiment.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::testing {

inline Experiment on_text(const std::string& model, const Settings& more = {}) {
  const Settings default_value = {"data.dataset=text",
                                  "data.sequence_length=32",
                                  "data.augment=[]",
                                  "data.batch_size=8",
                                  "model.name=" + model,
                                  "model.layers=2",
                                  "model.width=32",
                                  "model.heads=4",
                                  "train.max_steps=8",
                                  "train.optimizer.name=adamw",
                                  "train.optimizer.lr=0.003",
                                  "train.optimizer.momentum.nesterov=false",
                                  "train.optimizer.weight_decay.parameters=matrices",
                                  "train.schedule.warmup=0"};
  return Experiment{text_of_this_tree() + default_value + more};
}

/// Runs `troupe VERB MODEL OPTIONS`.
inline Ended ask_about(const std::string& verb, const std::filesystem::path& model,
                       const std::vector<std::string>& options) {
  std::vector<std::string> command{TROUPE_PROGRAM, verb, model.string()};
  command.insert(command.end(), options.begin(), options.end());
  return RunningProgram{command}.wait();
}

} // namespace troupe::testing
