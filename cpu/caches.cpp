#include "cpu/caches.hpp"

#include <fstream>
#include <sstream>
#include <string>

namespace troupe::cpu {

namespace {

constexpr std::size_t kibi = 1024;
constexpr Cache assumed_l1 = {32 * kibi, 1}, assumed_l2 = {512 * kibi, 1};

std::string read_word(const std::filesystem::path& file) {
  std::ifstream stream{file};
  std::string word;
  stream >> word;
  return word;
}

/// Parses the size of a cache, "48K" or "32M"; returns 0 for any other text.
std::size_t parse_cache_size(const std::string& text) {
  std::istringstream stream{text};
  std::size_t number = 0;
  char unit = 0;
  if (!(stream >> number >> unit))
    return 0;
  return unit == 'K' ? number * kibi : unit == 'M' ? number * kibi * kibi : 0;
}

/// Counts the processors of a list such as "0-3,8,10-11". Returns 1 for a text that is no list.
int count_processors(const std::string& list) {
  int count = 0;
  std::istringstream stream{list};
  for (std::string range; std::getline(stream, range, ',');) {
    std::istringstream ends{range};
    int first = 0, last = 0;
    char dash = 0;
    if (!(ends >> first))
      return 1;
    count += ends >> dash >> last && dash == '-' && last >= first ? last - first + 1 : 1;
  }
  return count < 1 ? 1 : count;
}

Cache read_cache(const std::filesystem::path& folder) {
  return {parse_cache_size(read_word(folder / "size")),
          count_processors(read_word(folder / "shared_cpu_list"))};
}

} // namespace

Caches read_caches(const std::filesystem::path& folder) {
  Caches found;
  for (int index = 0; index < 16; ++index) {
    const auto entry = folder / ("index" + std::to_string(index));
    const auto level = read_word(entry / "level");
    if (level.empty())
      break;
    if (read_word(entry / "type") == "Instruction")
      continue;
    if (level == "1")
      found.l1 = read_cache(entry);
    else if (level == "2")
      found.l2 = read_cache(entry);
    else if (level == "3")
      found.l3 = read_cache(entry);
  }
  if (found.l1.bytes == 0)
    found.l1 = assumed_l1;
  if (found.l2.bytes == 0)
    found.l2 = assumed_l2;
  return found;
}

std::size_t last_cache_bytes(const Caches& caches, int threads) {
  const auto& last = caches.l3.bytes > 0 ? caches.l3 : caches.l2;
  const auto count = (threads + last.threads - 1) / last.threads;
  return last.bytes * static_cast<std::size_t>(count);
}

const Caches& caches() {
  static const auto found = read_caches("/sys/devices/system/cpu/cpu0/cache");
  return found;
}

} // namespace troupe::cpu
