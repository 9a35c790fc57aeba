#pragma once
#include "files/json.h"
#include <heed/explain/interval.h>
#include "inspect/views/terminal.h"
#include "run/bag_of_words.h"

#include <heed/data/unknown_words.h>
#include <heed/explain/sentence_attention.h>

#include <optional>
#include <string>
#include <vector>

namespace heed {

// How well a model chooses among candidates in a set of sentences, beside what needs no reading, and where it looks.
struct Card {
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

// Error where the model does not choose among candidates, as card() needs.
void check_chooses(const SavedModel& model);

Card card(const SavedModel& model, const Baselines& baselines, const std::string& set, std::vector<Example> examples);

// The sentences of `file` (data/tasks/candidates.h), cut as the model reads them; without a file the run's held-out ones.
std::vector<Example> card_sentences(const SavedModel& model, const std::filesystem::path& run,
                                    const std::string& file = "");

// A table, and in words what it does and does not show.
std::string card_view(const Card& card, const Terminal& terminal);
std::vector<std::string> card_verdict(const Card& card);
Json card_json(const Card& card);  // what is unknown is null

}  // namespace heed
