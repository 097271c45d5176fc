#include "description.hpp"

#include "libraries.hpp"

#include <fmt/format.h>

namespace troupe::gpu {

namespace {

template <class Library>
Fact fact(const char* name, const Result<Library>& library) {
  if (!library)
    return {"cuda", name, library.error().message, false};
  return {"cuda", name, dotted(library->version())};
}

} // namespace

std::string dotted(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

Facts library_facts() {
  const auto places = library_places(LibraryEnvironment::of_process());
  return {fact("cuDNN", open_cudnn(places)), fact("cuBLASLt", open_cublas_lt(places))};
}

} // namespace troupe::gpu
