#pragma once
#include <heed/data/unknown_words.h>
#include <heed/explain/studies/bag_of_words.h>
#include <heed/explain/studies/interval.h>
#include <heed/models/formats/saved_model.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

/// How well a model chooses among candidates in a set of sentences, beside baselines that read nothing, and where it looks.
///
///   const Baselines baselines{.bag = BagOfWords(task.train, task.vocabulary), .training = {}};
///   const Report found = report(model, baselines, "my sentences", examples);
///   fmt::print("{:.3f}, a bag of words {:.3f}\n", found.model.share, found.bag.share);
struct Report {
  std::string set;
  int sentences = 0, pairs = 0;
  int known = 0;     // left out: they are in the training set, too
  int too_long = 0;  // left out: longer than what the model has positions for
  Interval model;
  Interval both_of_pair;                    // of the pairs; NaN without
  Interval bag;                             // BagOfWords of the same training sentences
  double coin = 0, nearest = 0, first = 0;  // a fair choice; the candidate next to the query; the first of the text
  // Controls of Elazar et al. 2021, arXiv:2104.08161, which should be a coin's: the same model where each candidate's words are
  // unknown words; and where all before the query are, but for the candidates.
  std::optional<Interval> without_candidates, after_query;
  UnknownShare unknown;

  // Sentences of one relation: a gender, "pro" or "anti".
  struct Group {
    std::string name;
    int sentences;
    Interval right;
    double F1;  // of "is this candidate meant?", over all candidates
  };
  std::vector<Group> groups;  // fewer than two relations: none

  // The head with the largest mean weight from the query to the meant candidate, for right and wrong answers apart.
  struct Looks {
    int sentences = 0;
    double meant = 0, other = 0;  // mean weight on the meant candidate, on the largest of the others
    double moved = 0;             // share of answers that change when the query cannot see the meant one in that head
  };
  int layer = -1, head = -1;  // from 0; -1: no sentence means a candidate
  Looks right, wrong;
};

/// Throws Error unless the model chooses among candidates, as report() needs.
void check_chooses(const SavedModel& model);

/// Measures it on `examples`, without those that training knows.
Report report(const SavedModel& model, const Baselines& baselines, const std::string& set,
              std::vector<Example> examples);

}  // namespace heed
