/// Fills a table of functions from a library that was opened at run time.
#pragma once

#include "core/fail.hpp"
#include "gpu/libraries.hpp"

#include <string>

namespace troupe::gpu {

class LibraryFunctions {
public:
  explicit LibraryFunctions(const SharedLibrary& library) : library_{library} {}

  template <class Function>
  void operator()(const char* symbol, Function*& function) {
    function = reinterpret_cast<Function*>(library_.find(symbol));
    if (function == nullptr && missing_.empty())
      missing_ = symbol;
  }

  /// Errors: unsupported, with the first missing function.
  Status done() const {
    if (missing_.empty())
      return {};
    return fail(Errc::unsupported, "{} has no function {}: another version is needed",
                library_.name(), missing_);
  }

private:
  const SharedLibrary& library_;
  std::string missing_;
};

} // namespace troupe::gpu
