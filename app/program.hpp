/// The whole of troupe as a function: what a program calls that adds models or data sets of its
/// own, which then are trained by name as all others are (docs/extending.md).
#pragma once

#include "core/config/custom_data_set.hpp"
#include "nn/models/family.hpp"

#include <vector>

namespace troupe::app {

/// What a program has beside what troupe has.
struct Extensions {
  std::vector<nn::Family> families;
  std::vector<CustomDataSet> data_sets;
};

/// Obeys the command line and gives the exit code (docs/exit-codes.md). It is main's one statement:
/// it sets signal handlers and may start the program once more (`compare`). Extensions whose names
/// or keys are there already, or that lack a function, are refused before anything else.
int run_program(int argc, char** argv, const Extensions& extensions = {});

} // namespace troupe::app
