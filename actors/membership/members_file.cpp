#include "actors/membership/members_file.hpp"

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/json.hpp"
#include "core/units.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iterator>
#include <system_error>

namespace troupe::actors {

namespace {

using Json = nlohmann::json;

Json to_json(const std::vector<training::Voter>& voters) {
  auto entries = Json::array();
  for (const auto& voter : voters)
    entries.push_back({{"address", voter.address}, {"process", voter.process}});
  return entries;
}

/// Ignores malformed entries.
std::vector<training::Voter> voters_of(const Json& file, const char* key) {
  std::vector<training::Voter> voters;
  for (const auto& entry : file.value(key, Json::array()))
    if (entry.is_object())
      voters.push_back({entry.value("address", ""), entry.value("process", "")});
  std::erase_if(voters,
                [](const training::Voter& voter) { return !parse_endpoint(voter.address); });
  return voters;
}

} // namespace

Members members_of(const training::GenerationRecord& record) {
  Members members{.generation = record.number,
                  .nodes = {},
                  .voters = record.voters,
                  .revision = record.revision};
  for (const auto& place : record.nodes)
    members.nodes.push_back({place.address, place.process});
  return members;
}

Status write_members(const std::filesystem::path& folder,
                     const training::GenerationRecord& record) {
  const auto members = members_of(record);
  const Json file{{"generation", members.generation},
                  {"revision", members.revision},
                  {"nodes", to_json(members.nodes)},
                  {"voters", to_json(members.voters)}};
  TROUPE_TRY(make_folders(folder));
  return write_file_atomically(folder / members_file, file.dump(1) + "\n");
}

Members read_members(const std::filesystem::path& folder) {
  std::ifstream in{folder / members_file};
  const std::string text{std::istreambuf_iterator<char>{in}, {}};
  const auto file = parse_json(text).value_or(nullptr);
  if (!file.is_object())
    return {};
  try {
    return {.generation = file.value("generation", std::int64_t{0}),
            .nodes = voters_of(file, "nodes"),
            .voters = voters_of(file, "voters"),
            .revision = file.value("revision", std::int32_t{0})};
  } catch (const Json::exception&) { // a key has another type
    return {};
  }
}

void forget_members(const std::filesystem::path& folder) {
  std::error_code ignored; // if it fails, the next start asks its nodes in vain
  std::filesystem::remove(folder / members_file, ignored);
}

} // namespace troupe::actors
