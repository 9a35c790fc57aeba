#pragma once
#include "open.h"
#include "run/internal/baselines.h"

#include <heed/formats/datasets/candidates.h>
#include <heed/formats/datasets/jsonl.h>

namespace heed {

// Returns an untrained model that chooses among candidates, for the minimal pair below.
inline Model choosing_model(bool or_none = false, Positions positions = Positions::learned, bool has_unknown = false) {
  Model model;
  for (const char* word : {"the", "cup", "hid", "jam", "it", "was", "big", "tiny"}) model.vocabulary.add(word);
  if (has_unknown) model.vocabulary.let_stand_for_unknown("<unk>");
  make_network(model,
               chooser_of({.max_length = 8, .positions = positions, .block = {.attention = {.d_model = 8, .heads = 2}}},
                          or_none));
  model.queries = {"it"};
  model.step = 400;
  return model;
}

inline std::vector<Example> counterparts() {
  std::vector<Example> examples;
  for (const int chosen : {0, 1}) {
    examples.push_back({.tokens = {"the", "cup", "hid", "jam", "it", "was", chosen == 0 ? "big" : "tiny"},
                        .query = 4,
                        .candidates = {{0, 2}, {3, 4}}});
    choose(examples.back(), chosen);
    examples.back().counterpart = 1 - chosen;
  }
  name_candidates(examples);
  return examples;
}

inline void write_choosing_run(const std::filesystem::path& run, const Model& model,
                               const std::vector<Example>& examples) {
  write_run(run, model, examples);
  write_jsonl(held_out_path(run), examples);
  std::vector<Example> learned = examples;  // the training set has other sentences
  for (Example& example : learned) example.tokens[2] = "was";
  write_baselines(run, learned, model.vocabulary);
}

struct ChoosingPage : Scratch {
  std::filesystem::path file = path / "page.html";
  explicit ChoosingPage(const Model& model) {
    write_choosing_run(path / "run", model, counterparts());
    write_file(file, page({page_run(path / "run", 2)}));
  }
};

}  // namespace heed
