/// Standard streams that are closed or cannot be written.
#pragma once

namespace troupe::app {

/// Replaces each closed standard stream with one on which every operation fails. Otherwise the next
/// file that is opened would get its number, and the output printed to it.
void hold_standard_streams();

/// Whether all output could be written; if not, reports that on stderr.
bool printed_all();

} // namespace troupe::app
