/// From what a program adds to what the commands are given.
#pragma once

#include "app/program.hpp"
#include "core/config/catalogue.hpp"
#include "core/error.hpp"

namespace troupe::app {

/// Errors: invalid_input, naming the model, data set or key that is wrong.
Result<Catalogue> make_catalogue(const Extensions& extensions);

} // namespace troupe::app
