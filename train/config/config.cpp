#include "train/config/config.h"

#include "train/config/keys.h"
#include "train/config/pretrained.h"
#include "train/config/rules.h"
#include "train/config/suggestions.h"
#include "train/config/yaml.h"

#include <heed/autograd/error.h>
#include <heed/files/file.h>
#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>

#include <algorithm>
#include <map>
#include <set>

namespace heed {
namespace {

// Returns `text` shortened to one line, for a message.
std::string shown(std::string_view text) {
  constexpr int widest = 60;
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
  return display_width(line) > widest ? fit_width(line, widest) : line;
}

std::string got(const Yaml& value) {
  switch (value.kind) {
    case Yaml::nothing:
      return "nothing";
    case Yaml::sequence:
      return "a sequence";
    case Yaml::mapping:
      return "a mapping";
    default:
      return value.quoted ? fmt::format("the text \"{}\"", shown(value.text)) : fmt::format("'{}'", shown(value.text));
  }
}

class SettingsReader {
 public:
  // `steps_taken` and `begun_with`: the steps and the first configuration of the run to resume, if known.
  SettingsReader(const std::string& source, std::string_view text, std::optional<std::int64_t> steps_taken = {},
                 std::optional<Config> begun_with = {})
      : source_(source),
        text_(text),
        steps_taken_(steps_taken),
        begun_with_(std::move(begun_with)),
        keys_(keys(config_)) {}

  Config read(const std::vector<std::string>& overrides, bool opens_pretrained = false) {
    for (const std::string& setting : overrides) checked_utf8(setting, "--set");
    read_document(parse_yaml(text_, source_, mistakes_));
    const auto is_given = [&](const std::string& key) { return given_.contains(key); };
    Config before = begun_with_.value_or(config_);
    if (!begun_with_) fit_defaults(before, is_given);
    for (std::size_t i = 0; i < overrides.size(); ++i) read_override(overrides[i], i);
    if (steps_taken_) shorten_warmup(before.optim.schedule);
    fit_defaults(config_, is_given);
    if (steps_taken_) compare(before, *steps_taken_);
    if (opens_pretrained && mistakes_.empty()) take_pretrained();
    check_rules();
    fail_with(mistakes_, text_, source_);
    return config_;
  }

  const std::vector<std::string>& changes() const { return changes_; }  // made by the overrides of a resumed run

 private:
  // Takes what a pretrained model decides. Keys that are given must agree with it.
  void take_pretrained() {
    const std::shared_ptr<const Model> pretrained = find_pretrained(config_.from);
    if (!pretrained) return;
    Config taken = config_;
    use_pretrained(taken, pretrained);
    const auto is_given = [&](const std::string& key) { return given_.contains(key); };
    for (const auto& [key, message] : contradictions(config_, taken, is_given)) {
      const Mistake& where = given_[key];
      mistakes_.push_back({where.place, message, where.origin});
    }
    config_ = std::move(taken);
  }

  // The file of a run also holds a warm-up that was a default: fewer steps shorten it.
  void shorten_warmup(const Schedule& before) {
    const auto written = given_.find("optim.warmup");
    const bool is_set = written != given_.end() && !written->second.origin.empty();
    const bool is_usual = before.warmup == std::min(Config{}.optim.schedule.warmup, before.steps / 2);
    Schedule& now = config_.optim.schedule;
    if (!is_set && is_usual && now.warmup > now.steps) now.warmup = now.steps / 2;
  }

  void compare(Config& before, std::int64_t taken) {
    const auto refuse = [&](const std::string& key, const Mistake& where) {
      mistakes_.push_back(
          {where.place,
           fmt::format("{} cannot change when a run is resumed; these keys can: {}", key, resumable_keys()),
           where.origin});
    };
    const std::vector<Key> old = keys(before);
    for (std::size_t i = 0; i < old.size(); ++i) {
      const Key& key = keys_[i];
      if (written(old[i]) == written(key) || bad_.contains(key.name)) continue;
      changes_.push_back(fmt::format("{} {} (was {})", key.name, written(key), written(old[i])));
      if (key.on_resume == Key::OnResume::fixed) refuse(key.name, given_[key.name]);
    }
    if (before.watched != config_.watched) refuse("probes", given_["probes"]);
    if (config_.optim.schedule.steps < taken && config_.optim.schedule.steps != before.optim.schedule.steps) {
      bad_.insert("train.steps");
      const Mistake& where = given_["train.steps"];
      mistakes_.push_back({where.place,
                           fmt::format("train.steps must be at least the {} steps already taken, got {}", taken,
                                       config_.optim.schedule.steps),
                           where.origin});
    }
  }

  void wrong(std::size_t place, std::string message) { mistakes_.push_back({place, std::move(message), ""}); }

  void read_document(const Yaml& root) {
    if (root.kind == Yaml::nothing) fail("{}: expected keys such as 'seed: 1', got an empty file", source_);
    if (root.kind != Yaml::mapping) {
      if (root.kind != Yaml::refused) wrong(root.place, "expected keys such as 'seed: 1', got " + got(root));
      return;
    }
    for (std::size_t i = 0; i < root.keys.size(); ++i) {
      const Yaml& key = root.keys[i];
      const Yaml& value = root.items[i];
      if (key.text == "probes") {
        read_watched_list(key, value);
      } else if (is_section(key.text)) {
        read_section(key, value);
      } else {
        read_value("", key, value);
      }
    }
  }

  std::vector<Key>::const_iterator find(const std::string& name) const {
    return std::ranges::find_if(
        keys_, [&](const Key& key) { return key.name == name || (!name.empty() && key.old_name == name); });
  }

  bool is_section(const std::string& name) const {
    return !name.empty() && std::ranges::find(keys_, name, &Key::section) != keys_.end();
  }

  void read_section(const Yaml& section, const Yaml& values) {
    if (values.kind == Yaml::mapping) {
      for (std::size_t i = 0; i < values.keys.size(); ++i) read_value(section.text, values.keys[i], values.items[i]);
    } else if (values.kind != Yaml::refused) {
      wrong(section.place, fmt::format("{} must be a mapping of keys, got {}", section.text, got(values)));
    }
  }

  void read_value(const std::string& section, const Yaml& key, const Yaml& value) {
    const auto found = find(section.empty() ? key.text : section + "." + key.text);
    const std::string name = found == keys_.end() ? "" : found->name;
    if (found == keys_.end() || found->section() != section) {
      const std::string in = section.empty() ? "" : " in " + section;
      wrong(key.place, fmt::format("unknown key '{}'{}{}", shown(key.text), in, suggestion(keys_, section, key.text)));
      return;
    }
    // A missing value has no place in the document; its key's place is used.
    given_[name] = {value.kind == Yaml::nothing ? key.place : value.place, "", ""};
    if (value.kind == Yaml::scalar && assign(*found, value.text, value.quoted)) return;
    bad_.insert(name);
    if (value.kind == Yaml::refused) return;
    wrong(given_[name].place,
          fmt::format("{} must be {}, got {}{}", name, expected(*found), got(value), near_choice(*found, value.text)));
  }

  void read_override(const std::string& setting, std::size_t number) {
    Mistake mistake{number, "", "--set " + shown(setting)};
    const std::size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    const auto found = find(name);
    if (equals == setting.npos) {
      mistake.message = "expected KEY=VALUE, such as model.heads=4";
    } else if (name == "probes") {
      if (setting.substr(equals + 1) == "[]") {
        given_[name] = mistake;
        config_.watched.clear();
        watched_places_.clear();
      } else {
        mistake.message =
            "--set accepts only probes=[], for no watched sentences of your own; write probes in the file";
      }
    } else if (is_section(name)) {
      const Key& first = *std::ranges::find(keys_, name, &Key::section);
      mistake.message = fmt::format("{} holds several values: set one of them, such as {}", name, first.name);
    } else if (found == keys_.end()) {
      mistake.message = fmt::format("unknown key '{}'{}", shown(name), suggestion_for_setting(keys_, name));
    } else {
      read_override_value(*found, setting.substr(equals + 1), mistake);
    }
    if (!mistake.message.empty()) mistakes_.push_back(mistake);
  }

  void read_override_value(const Key& key, const std::string& value, Mistake& mistake) {
    given_[key.name] = mistake;
    if (assign(key, value, false)) {
      bad_.erase(key.name);
      return;
    }
    bad_.insert(key.name);
    mistake.message =
        fmt::format("{} must be {}, got '{}'{}", key.name, expected(key), shown(value), near_choice(key, value));
  }

  void read_watched_list(const Yaml& key, const Yaml& list) {
    if (list.kind == Yaml::refused) return;
    given_["probes"] = {key.place, "", ""};
    if (list.kind != Yaml::sequence) {
      wrong(key.place, "probes must be a sequence of {text, query, antecedent}, got " + got(list));
      return;
    }
    for (const Yaml& item : list.items) {
      if (item.kind != Yaml::refused) read_watched(item);
    }
  }

  void read_watched(const Yaml& item) {
    const std::string name = fmt::format("probe {}", config_.watched.size() + 1);
    WatchedSentence& sentence = config_.watched.emplace_back();
    std::map<std::string, std::size_t>& places = watched_places_.emplace_back();
    if (item.kind != Yaml::mapping) {
      wrong(item.place, fmt::format("{} must be a mapping of text, query and antecedent, got {}", name, got(item)));
      return;
    }
    for (std::size_t i = 0; i < item.keys.size(); ++i)
      read_watched_value(name, item.keys[i], item.items[i], sentence, places);
    places[""] = item.place;
  }

  void read_watched_value(const std::string& name, const Yaml& key, const Yaml& value, WatchedSentence& sentence,
                          std::map<std::string, std::size_t>& places) {
    const std::map<std::string, std::string*> fields{
        {"text", &sentence.text}, {"query", &sentence.query}, {"antecedent", &sentence.antecedent}};
    const auto field = fields.find(key.text);
    if (field == fields.end()) {
      const std::vector<std::string> names{"text", "query", "antecedent"};
      wrong(key.place, fmt::format("unknown key '{}' in {}{}", shown(key.text), name, did_you_mean(key.text, names)));
      return;
    }
    places[key.text] = value.kind == Yaml::nothing ? key.place : value.place;
    const Key text{key.text, Text{field->second}, ""};
    if (value.kind == Yaml::refused) return;
    if (value.kind == Yaml::scalar && !value.text.empty() && assign(text, value.text, value.quoted)) return;
    wrong(places[key.text], fmt::format("{} of {} must be {}, got {}", key.text, name, expected(text), got(value)));
  }

  static auto order(const Mistake& m) { return std::pair(!m.origin.empty(), m.place); }

  void check_rules() {
    for (const BrokenRule& rule : broken_rules(config_)) {
      if (std::ranges::any_of(rule.keys, [&](const auto& key) { return bad_.contains(key); })) continue;
      Mistake last;  // place of the latest of its keys
      std::string latest;
      int given = 0;
      for (const std::string& key : rule.keys) {
        const auto found = given_.find(key);
        if (found == given_.end()) continue;
        ++given;
        if (order(found->second) < order(last)) continue;
        last = found->second;
        latest = key;
      }
      const bool is_meant = latest == rule.keys[0] && (given == 1 || !last.origin.empty());
      if (rule.is_unused && !is_meant) continue;
      mistakes_.push_back({last.place, rule.message, last.origin});
    }
    if (bad_.contains("data.tokens") || bad_.contains("data.task")) return;
    for (std::size_t i = 0; i < watched_places_.size(); ++i) check_watched(i);
  }

  void check_watched(std::size_t i) {
    const WatchedSentence& sentence = config_.watched[i];
    const bool reads_text = is_text(config_.data.kind);
    for (const char* field : {"text", "query", "antecedent"}) {
      const bool is_needed = !reads_text || field == std::string_view("text");
      if (is_needed && watched_places_[i].contains("") && !watched_places_[i].contains(field)) {
        wrong(watched_places_[i].at(""), fmt::format("probe {} has no {}", i + 1, field));
      }
    }
    if (is_of_texts_alone(config_.data.split) && !reads_text) return;  // already reported
    if (config_.data.split == Split::subwords) return;                 // not known before they are learned
    const Tokenizer tokenizer = reads_text ? Tokenizer::of_text(config_.data.split) : Tokenizer(config_.data.split);
    for (const auto& [field, word] :
         {std::pair("query", sentence.query), std::pair("antecedent", sentence.antecedent)}) {
      if (sentence.text.empty() || word.empty()) continue;  // already reported
      const std::string message = watched_mistake(sentence, word, tokenizer);
      if (!message.empty())
        wrong(watched_places_[i].at(field), fmt::format("{} of probe {}: {}", field, i + 1, message));
    }
    if (!sentence.query.empty() && sentence.query == sentence.antecedent) {
      wrong(watched_places_[i].at("antecedent"),
            fmt::format("antecedent of probe {} must differ from its query", i + 1));
    }
  }

  std::string source_;
  std::string_view text_;
  std::optional<std::int64_t> steps_taken_;
  std::optional<Config> begun_with_;
  Config config_;
  std::vector<Key> keys_;
  std::vector<Mistake> mistakes_;
  std::map<std::string, Mistake> given_;  // where each key was given; overrides replace the file
  std::set<std::string> bad_;             // keys whose value was refused
  std::vector<std::map<std::string, std::size_t>> watched_places_;
  std::vector<std::string> changes_;
};

}  // namespace

ResumedConfig read_resumed_config(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                                  std::int64_t steps_taken, const std::string& begun_with) {
  const std::string text = read_file(path);
  std::optional<Config> before;
  if (!begun_with.empty()) before = parse_config(begun_with, path.string() + ", as its checkpoint has it");
  SettingsReader reader(path.string(), checked_utf8(text, path.string()), steps_taken, std::move(before));
  Config config = reader.read(overrides);
  return {std::move(config), reader.changes()};
}

Config read_config(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  return read_config_text(read_file(path), path.string(), overrides);
}

Config read_config_text(const std::string& text, const std::string& source, const std::vector<std::string>& overrides) {
  return SettingsReader(source, checked_utf8(text, source)).read(overrides, true);
}

Config parse_config(const std::string& text, const std::string& source, const std::vector<std::string>& overrides) {
  return SettingsReader(source, checked_utf8(text, source)).read(overrides);
}

}  // namespace heed
