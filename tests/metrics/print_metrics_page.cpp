#include "tests/metrics/metrics_page.hpp"

#include <iostream>

int main() {
  std::cout << troupe::testing::metrics_page();
}
