/// Applies rows to documents, and collects settings, the report and problems.
#pragma once

#include "importers/import.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace troupe {

class Importer {
public:
  Importer(ImportOptions options, const Catalogue& catalogue)
      : options_{std::move(options)}, catalogue_{catalogue} {}

  void apply(const ForeignRows& rows, const ForeignContext& context);
  /// Sets a value that no key of the file gives.
  void set_default(const std::string& key, const std::string& value, const std::string& why);
  void hint(std::string text) { result_.hints.push_back(std::move(text)); }
  void add(ConfigProblem problem) { result_.problems.push_back(std::move(problem)); }
  void add(const std::vector<ConfigProblem>& problems);
  /// Adds a problem if the file lacks the key.
  void require(const ForeignDocument& document, const std::string& key, std::string allowed);
  /// Number of keys with this fate.
  std::int64_t count(Fate fate) const;
  const ImportOptions& options() const { return options_; }
  bool has(const std::string& key) const { return settings_.contains(key); }
  /// Returns the value of a key; nullopt if it is not set.
  std::optional<std::int64_t> number(const std::string& key) const;

  /// Checks the config and writes it. Its first line names the program and the file.
  Imported finish(const std::string& program, const std::filesystem::path& path) &&;

private:
  struct Chosen {
    ForeignSetting setting;
    ConfigProblem origin; ///< location and key of the source; if it has no source, `origin.what` is
                          ///< the reason
  };

  ForeignOutcome outcome(const ForeignRows& rows, const ForeignContext& context,
                         const ForeignEntry& entry) const;
  /// Returns why the setting contradicts that of another key; empty if it does not.
  std::string contradiction(const ForeignSetting& setting) const;
  void set(const ForeignSetting& setting, ConfigProblem origin);
  std::string settings_text(const ForeignSettings& settings) const;
  std::string words(const ForeignOutcome& outcome) const;
  void report(const ForeignDocument& document, const ForeignEntry& entry,
              const ForeignOutcome& outcome);
  std::string comment(const Chosen& chosen) const;
  std::string sources_of(const std::string& path) const;
  std::string yaml_of(const Config& config) const;
  ConfigProblem placed(ConfigProblem problem) const;

  ImportOptions options_;
  const Catalogue& catalogue_;
  std::map<std::string, Chosen> settings_;
  Imported result_;
};

} // namespace troupe
