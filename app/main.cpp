#include "app/program.hpp"

int main(int argc, char** argv) {
  return troupe::app::run_program(argc, argv);
}
