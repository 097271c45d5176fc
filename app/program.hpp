/// The whole of troupe as a function, for programs with custom models or data sets. They are
/// trained by name like the built-in ones (docs/extending.md).
#pragma once

#include "core/config/custom_data_set.hpp"
#include "nn/models/family.hpp"

#include <vector>

namespace troupe::app {

/// The models and data sets that a program adds.
struct Extensions {
  std::vector<nn::Family> families;
  std::vector<CustomDataSet> data_sets;
};

/// Runs the command line and returns the exit code (docs/exit-codes.md). Must be the only statement
/// of main: it sets signal handlers and may start the program again (`compare`). Before anything
/// else, refuses extensions whose names or keys already exist or that lack a function.
int run_program(int argc, char** argv, const Extensions& extensions = {});

} // namespace troupe::app
