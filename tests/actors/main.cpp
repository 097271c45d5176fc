#include "actors/node/network.hpp"

#include <catch2/catch_session.hpp>

int main(int argc, char** argv) {
  troupe::actors::register_message_types();
  return Catch::Session().run(argc, argv);
}
