/// What a program owes to whoever reads its standard output.
#pragma once

namespace troupe::app {

/// Where a standard stream was closed before the program began, opens one that fails: else the next
/// file that is opened would get its number, and what is printed.
void hold_standard_streams();

/// Whether all that was printed could be written; says so on stderr where it could not.
bool printed_all();

} // namespace troupe::app
