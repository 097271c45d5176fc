#include "gpu/library_places.hpp"

namespace troupe::gpu {

LibraryPlaces library_places_of_process() {
  return library_places(LibraryEnvironment::of_process());
}

} // namespace troupe::gpu
