#include "troupe/actors/interfaces.hpp"

#include <caf/io/middleman.hpp>
#include <catch2/catch_session.hpp>

int main(int argc, char** argv) {
  caf::core::init_global_meta_objects();
  caf::io::middleman::init_global_meta_objects();
  caf::init_global_meta_objects<caf::id_block::troupe>();
  caf::init_global_meta_objects<caf::id_block::troupe_roles>();
  return Catch::Session().run(argc, argv);
}
