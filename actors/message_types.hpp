/// Registration of the message types with CAF.
#pragma once

namespace troupe::actors {

/// Registers all message types in CAF's table for this process. CAF needs the complete table before
/// the first actor system starts. Thread-safe; may be called any number of times.
void register_message_types();

} // namespace troupe::actors
