#include "engines.hpp"
#include "troupe/core/fail.hpp"

namespace troupe::cpu {

Result<std::unique_ptr<Executable>> compile_onednn(HostDevice&, const Graph&,
                                                   const CompileOptions&) {
  return fail(Errc::unsupported, "this build has no onednn engine");
}

} // namespace troupe::cpu
