#include "cpu/flush_denormals.hpp"

#include "cpu/parallel.hpp"

namespace troupe::cpu {

FlushDenormals::FlushDenormals(FlushedThreads threads) : threads_{threads} {
  if (threads_ == FlushedThreads::library)
    on_library_threads([] { set_float_mode(flushing_bits); });
}

FlushDenormals::~FlushDenormals() {
  if (threads_ == FlushedThreads::library)
    on_library_threads([] { set_float_mode(0); });
}

} // namespace troupe::cpu
