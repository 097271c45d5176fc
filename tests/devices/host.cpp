#include "test_device.hpp"
#include "troupe/cpu/host_device.hpp"

namespace troupe::tests {

std::unique_ptr<Device> make_test_device(std::string&) {
  return cpu::make_host_device(0, 2);
}

} // namespace troupe::tests
