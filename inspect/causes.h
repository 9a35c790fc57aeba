#pragma once
#include "inspect/saved_model.h"
#include "nn/json.h"

#include <optional>
#include <string>
#include <vector>

// Is the attention the cause of the answer? What is cut or replaced within the model, by hooks, and what it does to the
// answers of held-out sentences.
namespace heed {

// One intervention, over all the sentences to which it applies.
struct Cause {
  enum What {
    head_zero,       // the head's output is 0 at every token
    head_mean,       // ... is its mean over the sentences: at the query over queries, elsewhere over the other tokens
    edge,            // the score of one key is -infinity for one query, so that the others share its weight (attention
                     // knockout; Geva et al. 2023, arXiv:2304.14767)
    only_edge,       // the scores of all other keys are
    edge_all_heads,  // `edge` in every head of the layer at once
    patch_head,      // the head's output is that of the twin sentence (activation patching; Meng et al. 2022,
                     // arXiv:2202.05262)
    patch_layer      // the output of every head of the layer is
  } what = head_zero;
  int layer = 0;
  int head = -1;  // -1: all
  std::string from,
      to;             // of an edge: "query", "antecedent", "other", "decider", "itself", or "rest": all other places in
                      // turn, then averaged
  double weight = 0;  // mean attention weight of the edge, query -> antecedent where there is no edge; NaN: unknown
  double probability = 0;  // mean change of the answer's probability
  double spread = 0;       // its standard deviation over sentences (`rest`: over sentences and places)
  double accuracy = 0;     // answered right after it
  double flipped = 0;      // patches: share of sentences that give the twin's answer after it; NaN otherwise
  double unmoved = 0;      // edges to `rest`: share of sentences in which no such cut changes the answer; NaN otherwise
};

// The logit of one sentence's answer as a sum. The last layer has no residual and the final norm's mean and deviation are
// taken as they are, so that every part of the sum is linear in what a head brought from one token.
struct Attribution {
  std::vector<std::string> tokens;
  int query = 0;
  std::string answer;
  double logit = 0;
  int layer = 0;  // the last
  struct Term {
    int head, source;
    double logit;
  };
  std::vector<Term> terms;  // heads x T
  struct Rest {
    std::string what;  // "W_O bias", "MLP", "final norm bias", "output bias"
    double logit;
  };
  std::vector<Rest> rest;
};

struct Causes {
  std::int64_t step = 0;
  int sentences = 0, held_out = 0;                          // of `held_out` sentences the first `sentences` are used
  double accuracy = 0, probability = 0, twin_accuracy = 0;  // as they are, nothing cut; NaN without twins
  double chance = 0;                                        // 1/2 when each answer has one other candidate, else NaN
  struct Pointing {
    int layer, head;
    double weight;
  };
  std::optional<Pointing> pointing;  // the head with the largest mean weight from query to antecedent
  std::vector<Cause> rows;
  std::vector<std::string> left_out;  // what does not apply to these sentences, and why
  double rank_correlation_last = 0, rank_correlation_all = 0;
  std::vector<Attribution> attribution;  // of the probe sentences
};

// Error when an attribution does not add up to its logit to 1e-4.
Causes causes(const SavedModel& model, const std::vector<Example>& held_out, const std::vector<Example>& probes);

// {"sentences":1000,"accuracy":1.0,...,"rows":[{"what":"edge","layer":1,"head":0,"from":"query","to":"antecedent",...}]}:
// layers and heads count from 0, what is unknown is null.
Json causes_json(const Causes& causes);

}  // namespace heed
