/// Turns the extensions of a program into the catalogue of its commands.
#pragma once

#include "app/program.hpp"
#include "core/config/catalogue.hpp"
#include "core/error.hpp"

namespace troupe::app {

/// Errors: invalid_input, naming the invalid model, data set or key.
Result<Catalogue> make_catalogue(const Extensions& extensions);

} // namespace troupe::app
