#include "engines.hpp"
#include "troupe/core/fail.hpp"

namespace troupe::cpu {

Result<std::unique_ptr<Executable>> compile_interpreter(HostDevice&, const Graph&,
                                                        const CompileOptions&) {
  return fail(Errc::unsupported, "this build has no interpreter engine");
}

} // namespace troupe::cpu
