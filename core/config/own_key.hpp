/// Names of custom_key.hpp before 0.2, for programs that use them. Removed in 0.3.
#pragma once

#include "core/config/custom_key.hpp"

namespace troupe {

template <class T>
using OwnKey = CustomKey<T>;

template <class T, class Section>
ConfigKey own_key(Section& section, const CustomKey<T>& key) {
  return custom_key(section, key);
}

template <class T, class Section>
T own_value(const Section& section, const CustomKey<T>& key) {
  return custom_value(section, key);
}

} // namespace troupe
