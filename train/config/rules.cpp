#include "train/config/rules.h"

#include <heed/autograd/error.h>
#include <heed/data/tokenize.h>

#include <algorithm>

namespace heed {

std::vector<BrokenRule> broken_rules(const Config& c) {
  std::vector<BrokenRule> broken;
  const auto demand = [&](bool holds, std::vector<std::string> keys, std::string message) {
    if (!holds) broken.push_back({std::move(keys), std::move(message)});
  };
  const bool is_directory_name = !c.name.empty() && c.name[0] != '.' && c.name.find('/') == c.name.npos;
  demand(is_directory_name, {"name"},
         fmt::format("name '{}' must name a directory in runs/: not empty, no '/', no '.' in front", c.name));

  const bool reads_files = c.data.task == "babi" || c.data.task == "jsonl";
  demand(!reads_files || !c.data.train.empty(), {"data.task", "data.train"},
         fmt::format("task {} needs a file: set data.train", c.data.task));
  for (const auto& [key, file] : {std::pair("data.train", c.data.train), std::pair("data.test", c.data.test)}) {
    demand(reads_files || file.empty(), {"data.task", key},
           fmt::format("task {} makes its own sentences: {} is for babi and jsonl", c.data.task, key));
  }

  const int d_model = c.model.d_model, heads = c.model.heads;
  const bool divides = d_model % heads == 0;
  demand(divides || (c.model.d_k > 0 && c.model.d_v > 0), {"model.d_model", "model.heads", "model.d_k", "model.d_v"},
         fmt::format("model.heads {} does not divide model.d_model {}: choose heads that do, or set both model.d_k and "
                     "model.d_v",
                     heads, d_model));
  const int d_k = c.model.d_k > 0 ? c.model.d_k : d_model / heads;
  const int d_v = c.model.d_v > 0 ? c.model.d_v : d_model / heads;
  demand(c.model.tie != "K_is_V" || d_k == d_v, {"model.tie", "model.d_k", "model.d_v", "model.d_model", "model.heads"},
         fmt::format("tie K_is_V needs model.d_k = model.d_v, got {} and {}", d_k, d_v));

  demand(c.optim.momentum == 0 || c.optim.name == "sgd", {"optim.name", "optim.momentum"},
         fmt::format("optim.momentum {} is for sgd, optim.name is {}", c.optim.momentum, c.optim.name));
  demand(!c.optim.nesterov || c.optim.momentum > 0, {"optim.nesterov", "optim.momentum"},
         "optim.nesterov needs optim.momentum above 0, got 0");
  demand(c.optim.warmup <= c.train.steps, {"optim.warmup", "train.steps"},
         fmt::format("optim.warmup {} must not exceed train.steps {}", c.optim.warmup, c.train.steps));
  return broken;
}

std::string watched_mistake(const WatchedSentence& probe, const std::string& word, const std::string& split) {
  const std::vector<std::string> tokens = tokenize(probe.text, split == "words" ? Split::words : Split::characters);
  const auto count = std::ranges::count(tokens, word);
  if (count == 1) return "";
  return fmt::format("'{}' must be one token of the text, found {}{}", word,
                     count == 0 ? "none" : fmt::format("{} times", count),
                     count == 0 ? did_you_mean(word, tokens) : "");
}

}  // namespace heed
