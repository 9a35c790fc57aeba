#include "tests/catch.h"
#include "tests/views/helpers.h"
#include "views/view.h"

#include <heed/explain/studies/matched_heads.h>

#include <cmath>

using namespace heed;

TEST_CASE("matched_heads_view shows the pointing heads, and roles with their random similarity") {
  MatchedHeads matched{
      .sentences = 200, .with_antecedent = 132, .with_counterpart = 100, .runs = {}, .chance = 0.5, .roles = {}};
  const auto about = [](double share) { return Interval{share, share - 0.05, share + 0.05}; };
  const auto add = [&](int layer, int head, double weight, double without, Carried carried) {
    matched.runs.push_back({fmt::format("runs/s/seed-{}", matched.runs.size() + 1), 300, 200, 0.9,
                            MatchedHeads::Pointing{layer,
                                                   head,
                                                   weight,
                                                   about(1),
                                                   about(without),
                                                   about(0.25),
                                                   about(0.75),
                                                   {.kind = Verdict::Kind::unknown, .needed = 430},
                                                   {},
                                                   carried}});
  };
  add(1, 0, 0.9, 0.25, Carried::alone);
  add(1, 1, 0.8, 0.75, Carried::shared);
  add(0, 1, 0.6, 0.9, Carried::another_way);
  add(1, 1, 0.3, 0.9, Carried::unknown);
  matched.runs[1].pointing->without = {1, 0.655, 1};
  matched.reference = 1;
  const auto member = [](int layer, int head, double effect) {
    return MatchedHeads::Member{layer, head, 0.9, 0.75, 0.1, std::nan(""), effect};
  };
  matched.roles = {{{member(0, 0, 0), member(0, 0, 0), member(0, 0, 0), member(0, 0, 0)}, 0.75, 0.5},
                   {{member(1, 0, 0.5), member(1, 1, 0.5), member(0, 1, 0.5), member(1, 1, 0.5)}, 0.9, 0.5}};
  matched.similarity = 0.825, matched.random = 0.5;
  for (const int width : {40, 60, 79}) check_width(matched_heads_view(matched, at_width(width)), width);
  const std::string text = matched_heads_view(matched, {});
  CHECK(text.find("\nright       accuracy over the 132 of 200 sentences whose antecedent is known\n") !=
        std::string::npos);
  CHECK(text.find(R"(
The weight of that head is 0.30 to 0.90 over the 4 runs, median 0.70.
A head points, with a weight of 0.5 or more, in 3 of 4 runs: layer 2 in 2, layer
1 in 1.
alone (1 of 3): without that edge in that head, at least 80 % of the advantage
over chance is lost.
shared (1 of 3): without that edge in every head of the layer, at least 80 % of
the advantage over chance is lost, but not without it in that head alone.
another way (1 of 3): without that edge in every head of the layer, at most 20 %
is lost.
With that head patched from the minimal pair, 75.0 % to 75.0 % of 100 answers
flip, median 75.0 %.

run       right  head  weight    without it       in layer   flipped
seed-1  100.0 %   2.1    0.90   25.0 % ± 5.0   25.0 % ± 5.0   75.0 %  alone
seed-2  100.0 %   2.2    0.80  65.5 to 100.0   25.0 % ± 5.0   75.0 %  shared
seed-3  100.0 %   1.2    0.60   90.0 % ± 5.0   25.0 % ± 5.0   75.0 %  another way
seed-4  100.0 %   2.2    0.30   90.0 % ± 5.0   25.0 % ± 5.0   75.0 %  -
)") != std::string::npos);
  CHECK(text.find(R"(
All heads together: 0.82 alike, 0.50 at random. Untrained heads, too, are
somewhat more alike when they are matched than at random: no test says that
heads do the same.

head   layer   antecedent     cue word      ablated    alike  random
 2.2  3 of 4  0.75 ± 0.00            -  0.50 ± 0.00     0.90    0.50
 1.1  4 of 4  0.75 ± 0.00            -  0.00 ± 0.00     0.75    0.50
)") != std::string::npos);
  CHECK(text.find("Each head of seed-2, the run most like the others,") != std::string::npos);
  matched.runs[1].held_out = 5, matched.runs[3].held_out = 0;
  CHECK(matched_heads_view(matched, {})
            .starts_with(
                "4 runs answer the same 200 sentences, held out of the first.\nseed-2, seed-4 held out only 0 to 5 "
                "of these sentences; they may have trained on\nthe rest. --test FILE asks all runs the same new "
                "sentences, and --set\ndata.seed=1 of train holds out the same.\n"));
  matched.runs[2].pointing->carried = Carried::unknown;
  CHECK(matched_heads_view(matched, at_width(300))
            .find("\ncannot tell (1 of 3): the 95 % intervals of these shares include a limit. The first of them needs "
                  "about 430 sentences.\n") != std::string::npos);
  for (MatchedHeads::Run& run : matched.runs) run.pointing.reset();
  CHECK(matched_heads_view(matched, {}).find("Which head points?") == std::string::npos);
}
