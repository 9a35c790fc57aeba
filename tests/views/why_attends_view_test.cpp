#include "inspect/command.h"
#include "tests/catch.h"
#include "tests/inspect/sample.h"
#include "views/view.h"

#include <heed/explain/score_parts.h>
#include <heed/files/file.h>

#include <cmath>
#include <sstream>

using namespace heed;

namespace {

// Returns the sums of the lists of figures in a text, one line per figure, each list below a heading.
std::vector<double> sums_of_lists(const std::string& text) {
  std::vector<double> sums;
  bool is_in_list = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool is_figure =
        line.size() > 9 && line.starts_with("  ") && line.substr(7, 4).find("  ") == 2 && line[6] == '.';
    if (is_figure && !is_in_list) sums.push_back(0);
    if (is_figure) sums.back() += std::stod(line.substr(2, 7));
    is_in_list = is_figure;
  }
  return sums;
}

}  // namespace

TEST_CASE("Each list of inspect why adds up to the difference of the scores") {
  const Model model = small_model();
  Example example = question(model, "The animal didn't cross the street because it was too tired");
  example.antecedent = 1;
  const Dump dump{model.step, {attend(model, example)}};
  const View view{.terminal = {.width = 200}, .layer = 2, .head = 1};
  const std::vector<ScoreParts> all = why_attends(model, dump, dump.sentences, view);
  const std::vector<double> sums = sums_of_lists(why_attends_view(all, dump, view));
  REQUIRE(sums.size() == 3);
  for (const double sum : sums)
    CHECK(std::abs(sum - (all[0].score - all[0].reference)) < 0.05);  // each line is rounded
}

TEST_CASE("inspect why prints the parts of a score, as text and JSON, for the pointing or chosen head") {
  const ScratchDirectory place;
  const Model model = small_model();
  Example first = question(model, "The animal didn't cross the street because it was too tired"), second = first;
  second.tokens.back() = "was";
  first.antecedent = 1;
  second.antecedent = 5;
  const Dump dump{model.step, {attend(model, first), attend(model, second)}};
  write_dump(place.path, dump);
  save_model(model_path(place.path), model);
  const auto inspected = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"inspect", "why", place.path.string()});
    std::vector<const char*> given;
    for (const std::string& one : arguments) given.push_back(one.c_str());
    return inspect(static_cast<int>(given.size()), given.data(), Terminal{.width = 200}, {});
  };
  const std::string text = inspected({"--layer", "2", "--head", "1"});
  CHECK(text.starts_with(
      "The [animal] didn't cross the street because it was too tired\nlayer 2 head 1: it -> animal has weight "));
  CHECK(text.find(" ahead of that of street") != std::string::npos);  // the antecedent of its counterpart
  CHECK(inspected({"--probe", "2"}).find(" ahead of that of animal") != std::string::npos);
  CHECK(text.find("\nquery contributions: it\n") != std::string::npos);
  CHECK(text.find("\nkey contributions: animal\n") != std::string::npos);
  CHECK(text.find(" instead of ") != std::string::npos);

  const Json all = Json::parse(inspected({"--json"}));
  REQUIRE(all.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const Json& one = all[i];
    CHECK((one["from"] == 7 && one["to"] == (i == 0 ? 1 : 5) && one["rather"] == (i == 0 ? 5 : 1)));
    const ScoredHead head = pointing_head(dump.sentences[i]);
    CHECK((one["layer"] == head.layer && one["head"] == head.head));
    for (const char* side : {"query", "key"}) {
      double score = 0, ahead = 0;
      for (const Json& part : one[side]) {
        score += part["score"].get<double>();
        ahead += part["ahead"].get<double>();
      }
      CHECK(std::abs(score - one["score"].get<double>()) < 1e-6);
      CHECK(std::abs(ahead - (one["score"].get<double>() - one["reference_score"].get<double>())) < 1e-6);
    }
    CHECK((one["products"].size() == max_products && one["cuts"].size() == 2));
  }
}
