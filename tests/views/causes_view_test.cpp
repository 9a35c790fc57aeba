#include "tests/explain/studies/helpers.h"
#include "tests/views/helpers.h"
#include "views/view.h"

#include <heed/explain/studies/causes.h>

using namespace heed;

TEST_CASE("causes_view fits the terminal, and shows the layer and head chosen") {
  const Model model = small_model();
  const Causes found = causes(model, sentences(), {question(model, "The dog was it")});
  const std::string text = causes_view(found, {});
  CHECK(text.starts_with("step 400: 5 of 5 held-out sentences\n"));
  CHECK(text.find("layer 2 every head\n") != std::string::npos);
  CHECK(text.find("    of 4 sentences, before ") != std::string::npos);
  CHECK(text.find("\nThe dog was it\nthe logit of ") != std::string::npos);
  check_width(text, 80);
  CHECK(text.find("brackets") == std::string::npos);  // no antecedent is known
  Causes marked = found;
  marked.attribution[0].antecedent = 1;
  CHECK(causes_view(marked, {}).ends_with("\n[brackets] mark the antecedent: what the query refers to.\n"));
  View view;
  view.layer = 2, view.head = 1;
  const std::string one = causes_view(found, view);
  CHECK(one.find("layer 2 head 1\n") != std::string::npos);
  CHECK(one.find("\nlayer 1 head") == std::string::npos);
  CHECK(one.find("layer 2 every head") == std::string::npos);
}

TEST_CASE("causes_view names measurements that the sentences do not allow") {
  const Model model = small_model();
  std::vector<Example> bare = sentences();
  for (Example& e : bare) e.antecedent = e.distractor = e.counterpart = -1, e.cue = "";
  const Causes found = causes(model, bare, {});
  CHECK(causes_view(found, {}).find(found.left_out[1]) != std::string::npos);
}

TEST_CASE("causes_view prints each row on two lines if the terminal is narrow") {
  const Model model = small_model();
  const Causes found = causes(model, sentences(), {question(model, "The dog was it")});
  const std::string text = causes_view(found, at_width(40));
  check_width(text, 40);
  CHECK(text.find("\n  cut query -> antecedent\n  0.") != std::string::npos);
}

TEST_CASE("causes_view shows two heads of a large model and sums the contributions of the others") {
  Causes found;
  Attribution one{.tokens = {"a", "b"},
                  .query = 1,
                  .antecedent = -1,
                  .answer = "\x1b[1m",
                  .logit = 10,
                  .layer = 1,
                  .terms = {},
                  .rest = {}};
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 3; ++head) {
      found.rows.push_back({.what = Cause::What::edge,
                            .layer = layer,
                            .head = head,
                            .from = "query",
                            .to = "antecedent",
                            .weight = 0.1 * (3 * layer + head)});
      if (layer == 1) one.terms.push_back({head, 0, 1.0 + head}), one.terms.push_back({head, 1, 0.25});
    }
  }
  found.pointing = {1, 2, 0.5, {}, {}};
  for (int more = 3; more < 6; ++more) one.terms.push_back({more, 0, 0.5});
  found.attribution = {one};
  const std::string text = causes_view(found, {});
  CHECK(text.find("layer 2 head 3\n") < text.find("layer 2 head 2\n"));
  CHECK(text.find("layer 1 head 1\n") == std::string::npos);
  CHECK(text.find("Shown: 2 of 6 heads, those with the most weight on the antecedent. --layer 2") != std::string::npos);
  CHECK(text.find("\n  layer 2 head 3  a +3.000  b +0.250  others +0.000\n") != std::string::npos);
  CHECK(text.find("\n  4 other heads +2.750  = 8.250\n") != std::string::npos);
  CHECK(text.find("\nthe logit of ␛[1m is 10.000:\n") != std::string::npos);
}

namespace {

// A row about `count` sentences without pairs: all are answered right before the knockout, and `right` of them after it.
Cause cut_row(Cause::What what, int layer, int head, const std::string& to, int right, int count, double chance = 0.5) {
  std::vector<double> after, before(static_cast<std::size_t>(count), 1.0), lost;
  std::vector<int> groups;
  for (int i = 0; i < count; ++i) {
    after.push_back(i < right);
    lost.push_back(1 - after.back());
    groups.push_back(i);
  }
  Cause row{.what = what, .layer = layer, .head = head, .from = "query", .to = to, .sentences = count};
  row.weight = 0.9;
  row.before = interval_of(before, groups, share_scale);
  row.accuracy = interval_of(after, groups, share_scale);
  row.lost = interval_of(lost, groups, difference_scale);
  row.p = p_of(lost, groups);
  row.verdict = verdict_of(before, after, groups, {chance});
  row.unmoved = {1, 0.8, 1};
  return row;
}

// Two layers of two heads; layer 2 head 1 points.
Causes causes_of(int alone, int everywhere, int count, double chance = 0.5) {
  Causes found;
  found.sentences = count;
  found.accuracy = {1, 1, 1};
  found.counterpart_accuracy.share = std::nan("");
  found.chance = chance;
  found.pointing = {1, 0, 0.9, share_of({}), {}};
  found.rows = {cut_row(Cause::What::edge, 1, 0, "antecedent", alone, count, chance),
                cut_row(Cause::What::edge_all_heads, 1, -1, "antecedent", alone, count, chance),
                cut_row(Cause::What::edge_everywhere, -1, -1, "antecedent", everywhere, count, chance)};
  return found;
}

}  // namespace

TEST_CASE("causes_verdict answers by the share lost and its interval") {
  const auto answer = [](const Causes& found) { return causes_verdict(found)[0]; };
  CHECK(
      answer(causes_of(56, 40, 200)) ==
      "Yes: without the edge from the query to the antecedent in layer 2 head 1, 144.0 % of the advantage over chance "
      "is lost (130.3 to 156.0); 28.0 % (22.0 to 34.9) of 200 sentences are then answered right (before 100.0 %, by "
      "chance 50.0 %). A loss of more than 100 % means accuracy below chance.");
  CHECK(answer(causes_of(160, 40, 200))
            .starts_with("In part: without the edge from the query to the antecedent in layer 2 head 1, 40.0 % of the "
                         "advantage over chance is lost (29.7 to 52.7); 80.0 % (73.6 to 85.2) of 200 sentences "));
  CHECK(
      answer(causes_of(200, 40, 200)) ==
      "Not this head alone: without the edge from the query to the antecedent in layer 2 head 1, 0.0 % of the "
      "advantage over chance is lost (-4.9 to 4.7); without it in every head, 160.0 % of the advantage over chance is "
      "lost (147.3 to 170.3) over 200 sentences.");
  CHECK(answer(causes_of(200, 200, 200)) ==
        "No: without the edge from the query to the antecedent in every head of every layer, 0.0 % of the advantage "
        "over chance is lost (-4.9 to 4.7); 100.0 % (97.7 to 100.0) of 200 sentences are then answered right (before "
        "100.0 %, by chance 50.0 %).");
  // Too few sentences to tell: two right answers do not lie above chance, and ten leave a large part open.
  CHECK(answer(causes_of(1, 1, 2)).starts_with("No answers to explain: 100.0 % ("));
  CHECK(answer(causes_of(4, 4, 8)).starts_with("Cannot tell from 8 sentences: "));
  const std::vector<std::string> ten = causes_verdict(causes_of(10, 10, 10));
  CHECK(ten[0].starts_with(
      "At most in part: without the edge from the query to the antecedent in layer 2 head 1, 0.0 % of "
      "the advantage over chance is lost (-156.2 to 68.9); "));
  CHECK(ten[1] ==
        "To tell whether this is all, a part or none takes about 120 sentences if the same share is lost. Hold out "
        "more: name them in data.test, "
        "or raise data.held_out of a generated task.");
  Causes limited = causes_of(10, 10, 10);
  limited.held_out = 200;
  CHECK(causes_verdict(limited)[1].ends_with(
      " takes about 120 sentences if the same share is lost. Raise --limit: the run holds out 200."));
  // Half of 132 answers become wrong; chance is unknown.
  CHECK(answer(causes_of(66, 66, 132, std::nan(""))) ==
        "In part: without the edge from the query to the antecedent in layer 2 head 1, 50.0 % of the accuracy is lost "
        "(41.2 to 58.8); 50.0 % ± 8.8 of 132 sentences are then answered right (before 100.0 %).");
  Causes untrained = causes_of(56, 40, 200);
  untrained.rows[0].before = {0.52, 0.45, 0.59};
  untrained.rows[0].verdict.kind = Verdict::Kind::no_answers;
  CHECK(answer(untrained) ==
        "No answers to explain: 52.0 % ± 7.0 of 200 sentences are answered right, by chance 50.0 %, which is not shown "
        "to be above chance.");
  // One answer is right in 920 of 1000 sentences, and is all that is left after the cut.
  std::vector<double> before(1000, 1.0), after(1000, 1.0);
  std::fill_n(after.begin(), 80, 0.0);
  std::vector<int> answers(1000, 1);
  std::fill_n(answers.begin(), 80, 2);
  Causes mostly = causes_of(920, 920, 1000);
  for (Cause& row : mostly.rows) row.verdict = verdict_of(before, after, {}, chance_of(answers, 0.5));
  CHECK(answer(mostly) ==
        "Yes: without the edge from the query to the antecedent in layer 2 head 1, 100.0 % of the advantage over "
        "chance is lost (92.5 to 108.0); 92.0 % ± 1.7 of 1000 sentences are then answered right (before 100.0 "
        "%, by the most frequent answer 92.0 %).");
  for (Cause& row : mostly.rows)
    row.before = share_of(std::vector<bool>(1000, true)),
    row.verdict = verdict_of(after, after, {}, chance_of(answers, 0.5));
  CHECK(answer(mostly).ends_with(
      " of 1000 sentences are answered right, by the most frequent answer 92.0 %, which is not shown to be above "
      "chance."));
}

TEST_CASE(
    "causes_verdict compares the cut with a weight of 0, and says whether the answer comes through attention alone") {
  const auto lines = [](int cut, int zeroed) {
    Causes found = causes_of(cut, cut, 200);
    found.rows.push_back(cut_row(Cause::What::zero_weight, 1, 0, "antecedent", zeroed, 200));
    return causes_verdict(found);
  };
  const auto starts = [](const std::vector<std::string>& all, const std::string& part) {
    return std::ranges::any_of(all, [&](const std::string& line) { return line.starts_with(part); });
  };
  const std::string zeroed = "With the weight of that edge set to 0 instead, so that no other token receives it, ";
  CHECK(starts(lines(40, 60), zeroed + "140.0 % of the advantage over chance is lost ("));
  CHECK_FALSE(starts(lines(40, 60), "The two verdicts differ"));
  CHECK(starts(
      lines(40, 150),
      "The two verdicts differ (all with the cut, part with a weight of 0): a part of what the cut loses is due to "
      "the tokens that receive the weight."));
  CHECK(starts(
      lines(200, 40),
      "The two verdicts differ (none with the cut, all with a weight of 0): after the cut, the tokens that receive "
      "the weight make up for a part of the loss."));
  CHECK_FALSE(starts(lines(115, 150), "The two verdicts differ"));  // 85 % of 200 sentences may be all or a part

  Causes found = causes_of(40, 40, 200);
  const std::string end =
      " The last layer has no residual, so the query's state there comes only from the tokens that it attends to.";
  CHECK_FALSE(causes_verdict(found)[0].ends_with(end));
  found.attention_alone = true;
  CHECK(causes_verdict(found)[0].ends_with(end));
}

TEST_CASE("Without antecedents, causes_verdict names the head on which the answers depend most") {
  Causes found = causes_of(1, 1, 200, std::nan(""));
  found.pointing = {};
  found.probability = 0.3;
  found.accuracy = {1, 0.98, 1.02};
  found.rows = {cut_row(Cause::What::mean_ablation, 0, 0, "", 199, 200, std::nan("")),
                cut_row(Cause::What::mean_ablation, 0, 1, "", 120, 200, std::nan(""))};
  found.rows[0].probability = -0.01;
  found.rows[1].probability = -0.125;
  CHECK(
      causes_verdict(found) ==
      std::vector<std::string>{
          "Most of all on layer 1 head 2: when layer 1 head 2 is mean-ablated, 40.0 % of the accuracy is lost (33.2 to "
          "47.2); 60.0 % ± 7.0 of 200 sentences are then answered right (before 100.0 %); the answer's mean "
          "probability changes by -0.125 from 0.300.",
          "Accuracy falls with 1 of 2 heads. Holm's method keeps the probability that any of these is named by chance "
          "at 5 %."});
  const std::string text = causes_view(found, {});
  CHECK(text.find("Which heads do the answers depend on?\nMost of all on") < text.find("\nlayer 1 head 2\n"));
  found.rows.pop_back();
  CHECK(
      causes_verdict(found)[0].starts_with("Not shown for any single head: when layer 1 head 1 is mean-ablated, 0.5 % "
                                           "of the accuracy is lost (-1.9 to 3.2); "));
  found.accuracy = {0.01, -0.01, 0.03};
  found.rows[0].verdict.kind = Verdict::Kind::no_answers;
  CHECK(causes_verdict(found)[0].starts_with("No answers to explain: 1.0 % (0.0 to 3.0) of 200 sentences"));
}

TEST_CASE("Causes::with_loss names by Holm's method") {
  std::vector<Cause> rows(4);
  const std::vector<double> p{0.011, 0.3, 0.02, 0.004};  // times 4, 3 and 2: 0.016, 0.033, 0.04
  std::vector<const Cause*> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].p = p[i];
    rows[i].lost.share = 0.1;
    all.push_back(&rows[i]);
  }
  CHECK(Causes::with_loss(all) == std::vector<const Cause*>{&rows[3], &rows[0], &rows[2]});
  rows[0].p = 0.02;  // times 3: 0.06
  CHECK(Causes::with_loss(all) == std::vector<const Cause*>{&rows[3]});
  rows[3].lost.share = -0.1;  // gains
  CHECK(Causes::with_loss(all).empty());
}

TEST_CASE("causes_verdict mentions another head of the layer only if its interval excludes 0") {
  Causes found = causes_of(56, 45, 200);
  const auto says = [&](const std::string& part) {
    for (const std::string& line : causes_verdict(found)) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  };
  found.pointing->others = {0.055, -0.014, 0.124};
  CHECK_FALSE(says("another head"));
  found.pointing->others = {0.055, 0.02, 0.09};
  CHECK(says("That loses 5.5 ± 3.5 points more: another head of the layer carries it, too."));
}

TEST_CASE("Each line of causes_verdict gives percentages of a single set of sentences") {
  Causes found = causes_of(66, 66, 132, std::nan(""));
  found.sentences = 200;
  found.rows.push_back(cut_row(Cause::What::edge, 1, 0, "decider", 0, 68));
  found.rows.push_back(cut_row(Cause::What::edge, 1, 0, "itself", 200, 200));
  found.rows.push_back(cut_row(Cause::What::edge, 1, 0, "rest", 200, 200));
  for (const std::string& line : causes_verdict(found)) {
    INFO(line);
    const int sets = (line.find(" 132 sentences") != std::string::npos) + (line.find("of 68") != std::string::npos) +
                     (line.find("of 200") != std::string::npos);
    CHECK(sets == (line.find('%') != std::string::npos || line.find("in the mean") != std::string::npos ? 1 : 0));
  }
  const std::string text = causes_view(found, {.terminal = {.width = 300}, .layer = {}, .head = {}});
  CHECK(text.find(
            "\nWithout its edge to the cue word instead, 0.0 % (0.0 to 6.7) of 68 sentences are answered right (before "
            "100.0 %).\n") != std::string::npos);
  CHECK(text.find("\nFor no other edge of that head is a loss shown.\n") != std::string::npos);
  CHECK(text.find("\n    of 68 sentences, before 100.0 %\n") != std::string::npos);
  CHECK(text.find("Is the attention the cause?") < text.find("cut query -> cue word"));
}

TEST_CASE("causes_view says that the rank correlation is undefined and prints no nan") {
  Example one;
  one.tokens = {"it"};
  one.query = 0;
  one.answer = "it";
  const Causes found = causes(small_model(), {one, one}, {});
  const std::string text = causes_view(found, {});
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("The rank correlation of weights and effects of cuts is undefined: all weights,\nor all effects, are "
                  "equal.\n") != std::string::npos);
}
