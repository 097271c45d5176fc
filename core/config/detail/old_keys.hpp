/// Keys and folders of version 0.1, which are read until 0.3: remove this file then.
#pragma once

#include "core/config/schema.hpp"
#include "core/config/validate.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

struct OldKey {
  ConfigKey key;                      ///< its old path, bound to what it sets now
  std::vector<std::string> replaced;  ///< keys that it must not be given together with
  std::string now;                    ///< "parallel.diloco.group_size"; empty: it has no effect
  std::function<void()> changed = {}; ///< called after its value was read
};

/// The old keys of a config. Values of those without a member wait here for apply().
class OldKeys {
public:
  /// `keys` have their fields, and are bound to `config`; both outlive this object.
  OldKeys(Config& config, const std::vector<ConfigKey>& keys);
  OldKeys(const OldKeys&) = delete;
  OldKeys& operator=(const OldKeys&) = delete;
  ~OldKeys() = default;

  /// Returns null if no old key has this path.
  const OldKey* find(std::string_view path) const;
  /// Whether old keys are in the section: "parallel.outer".
  bool has_section(std::string_view path) const;
  const std::vector<OldKey>& all() const { return all_; }

  /// Applies values whose meaning depends on other keys. Call it after all keys were read.
  void apply();
  /// Conflicts that only old keys can cause.
  ConfigConflicts conflicts() const;

private:
  void add_others();
  void add_waiting();
  void add(ConfigKey key, std::vector<std::string> replaced, std::string now,
           std::function<void()> changed = {});

  Config& config_;
  std::int64_t local_steps_ = 16;
  std::optional<std::string> test_root_;
  std::optional<std::int64_t> synthetic_samples_, max_units_alive_;
  bool clip_before_unscale_ = false;
  std::vector<OldKey> all_;
};

/// Returns the warning for a use of the key.
std::string warning_of(const OldKey& old);

/// Replaces "data/NAME", the folder of downloads in version 0.1, by "datasets/NAME" in data.root,
/// data.validation and data.tokenizer if only the latter exists. Adds a line to config.notes for
/// each.
void use_moved_downloads(Config& config);

} // namespace troupe
