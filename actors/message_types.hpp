/// The types of messages, as CAF knows them.
#pragma once

namespace troupe::actors {

/// CAF keeps the types of messages in a table of the process, which has to be complete before its
/// first actor system. Any thread may ask for it, any number of times.
void register_message_types();

} // namespace troupe::actors
