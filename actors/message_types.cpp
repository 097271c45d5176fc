#include "actors/message_types.hpp"

#include "actors/interfaces.hpp"

#include <caf/io/middleman.hpp>
#include <caf/openssl/all.hpp>

#include <mutex>

namespace troupe::actors {

void register_message_types() {
  static std::once_flag once;
  std::call_once(once, [] {
    caf::core::init_global_meta_objects();
    caf::io::middleman::init_global_meta_objects();
    caf::openssl::manager::init_global_meta_objects();
    caf::init_global_meta_objects<caf::id_block::troupe>();
    caf::init_global_meta_objects<caf::id_block::troupe_roles>();
  });
}

} // namespace troupe::actors
