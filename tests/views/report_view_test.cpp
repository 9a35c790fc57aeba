#include "tests/catch.h"
#include "views/view.h"

#include <heed/explain/studies/report.h>

#include <cmath>

using namespace heed;

namespace {

Report sample() {
  Report c;
  c.set = "set.tsv";
  c.sentences = 200;
  c.model = {0.60, 0.53, 0.67};
  c.both_of_pair = {NAN, NAN, NAN};
  c.bag = {0.52, 0.45, 0.59};
  c.over_bag = {0.08, 0.01, 0.15};
  c.pro_over_anti = Interval{0.2, 0.06, 0.33};
  c.coin = 0.5;
  c.nearest = 0.48;
  c.first = 0.55;
  c.without_candidates = Interval{0.51, 0.44, 0.58};
  c.after_query = Interval{0.58, 0.51, 0.65};
  c.unknown = {.types = 100, .unknown_types = 43, .words = 1000, .unknown_words = 120};
  c.groups = {{"pro", 100, {0.7, 0.6, 0.8}, 0.7}, {"anti", 100, {0.5, 0.4, 0.6}, 0.5}};
  c.layer = 1;
  c.head = 0;
  c.right = {120, 0.25, 0.125, 0.0625};
  c.wrong = {80, 0.125, 0.25, 0.03125};
  return c;
}

}  // namespace

TEST_CASE("report_view prints a verdict in words and a table") {
  CHECK(report_view(sample(), {}) ==
        "set.tsv: 200 sentences\n"
        "Better than a bag of words: right in 8.0 points (1.0 to 15.0) more of the same\n"
        "sentences.\n"
        "On the part after the query it is still right in 58.0 % (51.0 to 65.0), above a\n"
        "coin's 50.0 %: annotation artifacts of the set reveal the answer.\n"
        "Pro-stereotypical 70.0 %, anti-stereotypical 50.0 %: a difference of 20.0 points\n"
        "(6.0 to 33.0).\n"
        "                                               right   95 % interval\n"
        "  the model                                   60.0 %   53.0 to 67.0\n"
        "  a bag of words                              52.0 %   45.0 to 59.0\n"
        "  the model without the candidates' words     51.0 %   44.0 to 58.0\n"
        "  the model on the part after the query       58.0 %   51.0 to 65.0\n"
        "  a coin                                      50.0 %\n"
        "  the nearest candidate                       48.0 %\n"
        "  the first candidate                         55.0 %\n"
        "  the model, pro (100)                        70.0 %   60.0 to 80.0\n"
        "  the model, anti (100)                       50.0 %   40.0 to 60.0\n"
        "The model does not know 12 % of 1000 words (43 % of 100 different words).\n"
        "Layer 2 head 1 puts the most attention of all heads on the correct candidate:\n"
        "  answers              on correct  on another  changed without that edge\n"
        "  right (120)                0.25        0.12                      6.2 %\n"
        "  wrong (80)                 0.12        0.25                      3.1 %\n");
}

TEST_CASE("report_verdict says if a model is not shown to be better than a coin or a bag of words") {
  Report c = sample();
  c.model = {0.53, 0.47, 0.59};
  c.over_bag = {0.01, -0.06, 0.08};
  const std::vector<std::string> said = report_verdict(c);
  REQUIRE(said.size() >= 2);
  CHECK(said[0] == "Not shown to be better than a coin: 50.0 % is in, or above, the interval 47.0 to 59.0 %.");
  CHECK(said[1] ==
        "Not shown to be better than a bag of words: right in 1.0 points (-6.0 to 8.0) more of the same sentences, an "
        "interval that does not lie above 0.");
  c.groups[1].right = {0.6, 0.5, 0.7};
  c.pro_over_anti = Interval{0.1, -0.04, 0.24};
  CHECK(report_verdict(c).back() ==
        "Pro-stereotypical 70.0 %, anti-stereotypical 60.0 %: a difference of 10.0 points (-4.0 to 24.0), which is not "
        "shown to differ from 0.");
  c.pro_over_anti.reset();
  c.groups = {{"feminine", 100, {0.7, 0.6, 0.8}, 0.6}, {"masculine", 100, {0.5, 0.4, 0.6}, 0.75}};
  CHECK(report_verdict(c).back() == "F1 60.0 feminine, 75.0 masculine: a ratio of 0.80.");
}

TEST_CASE("report compares with the most frequent answer where that is right more often than a coin") {
  Report c = sample();
  c.most_frequent = 0.56;
  c.over_most_frequent = Interval{0.04, -0.02, 0.1};
  CHECK(report_verdict(c)[0] ==
        "Not shown to be better than the most frequent answer: right in 4.0 points (-2.0 to 10.0) more of the same "
        "sentences, an interval that does not lie above 0.");
  CHECK(report_verdict(c)[2].starts_with("Pro-stereotypical"));  // 51.0 to 65.0 is not above 56.0
  c.after_query = Interval{0.65, 0.58, 0.71};
  CHECK(report_verdict(c)[2].find("above the most frequent answer's 56.0 %") != std::string::npos);
  CHECK(report_view(c, {}).find("\n  the most frequent answer                    56.0 %\n") != std::string::npos);
  CHECK((report_json(c)["most_frequent"] == 0.56 && report_json(c)["over_most_frequent"]["low"] == -0.02));
  CHECK(report_json(sample())["most_frequent"].is_null());
}

TEST_CASE("report_json writes figures as numbers, and null for unknown ones") {
  Report c = sample();
  c.without_candidates.reset();
  const Json json = report_json(c);
  CHECK(json["model"]["low"] == 0.53);
  CHECK(json["both_of_pair"]["share"].is_null());
  CHECK(json["without_candidates"].is_null());
  CHECK(json["groups"][1]["name"] == "anti");
  CHECK(json["wrong"]["moved"] == 0.03125);
  CHECK(json["layer"] == 1);
}
