#include "tests/explain/circuits/induction_by_hand.h"
#include "tests/page/open.h"
#include "views/circuit_view.h"

#include <heed/explain/circuits/pair_task.h>
#include <heed/formats/datasets/jsonl.h>

#include <algorithm>
#include <cmath>

// The circuit of a run in its page.
using namespace heed;

namespace {

// A run with an induction circuit of 5 edges, and its page.
struct CircuitPage : Scratch {
  std::filesystem::path run = path / "run", file = path / "page.html";
  Json circuit{};

  // With `exchanged` answers in every other pair, no circuit serves all pairs.
  explicit CircuitPage(bool exchanged = false) {
    InductionByHand made;
    made.add_second_head();
    made.model.step = 400;
    std::vector<Example> held_out;
    for (const TextPair& pair : made.pairs(20)) {
      const int i = static_cast<int>(held_out.size());
      const bool is_exchanged = exchanged && i % 4 == 0;
      held_out.push_back(pair.clean), held_out.push_back(pair.corrupted);
      held_out[held_out.size() - 2].answer = pair.clean.tokens[is_exchanged ? 3 : 1];
      held_out[held_out.size() - 2].counterpart = i + 1;
      held_out.back().answer = pair.clean.tokens[is_exchanged ? 1 : 3];
      held_out.back().counterpart = i;
    }
    write_run(run, made.model, {held_out[0], held_out[1]});
    write_jsonl(held_out_path(run), held_out);
    const PageRun made_page = page_run(run);
    circuit = made_page.description.at("circuit");
    write_file(file, page({made_page}));
  }
};

// Returns a share as the page writes it, without the sign for percent.
std::string percent_of(double share) { return (share < 0 ? "−" : "") + fmt::format("{:.1f}", std::abs(100 * share)); }

std::string panel_text(Browser& chromium) {
  return chromium.text("document.querySelector('#panel section').innerText");
}

}  // namespace

TEST_CASE("The page draws the circuit, and says what a removal leaves of it") {
  Browser* chromium = browser();
  if (!chromium) return;
  const CircuitPage place;
  REQUIRE(place.circuit["verdict"] == "circuit");
  REQUIRE(place.circuit["edges"].size() == 5);
  chromium->open(place.file, 1280, false, "#view=circuit");
  CHECK(panel_text(*chromium).find(" edges survive, and keep ") != std::string::npos);
  CHECK(panel_text(*chromium).find("Press an edge or a head to remove it") != std::string::npos);
  CHECK(chromium->text("document.querySelector('.picture svg').getAttribute('aria-label')")
            .starts_with("Circuit of 5 edges, which keeps "));

  CHECK(panel_text(*chromium).find(
            fmt::format("5 random circuits of {} edges keep ", place.circuit["circuit"]["joined"].get<int>()) +
            percent_of(place.circuit["random"]["faithfulness"]["mean"])) != std::string::npos);

  CHECK(panel_text(*chromium).find(
            "is reported because both all edges that were chosen and those that survive are shown") !=
        std::string::npos);

  // How far some edges go, a row for each set of them.
  const auto way = [&](const std::string& name) {
    return chromium->text(
        fmt::format("[...document.querySelectorAll('.way tbody tr')].map((row) => [...row.children].map("
                    "(cell) => cell.textContent).join('\\t')).find((row) => row.startsWith('{}\\t'))",
                    name));
  };
  const Json& survives = place.circuit["surviving"];
  const int count = survives["joined"];
  CHECK(way("no edge").starts_with("no edge\t0.0 %\t"));
  CHECK(way(fmt::format("all that survive: {}", count))
            .find("\t" + percent_of(survives["faithfulness"]["mean"]) + " % (" +
                  percent_of(survives["faithfulness"]["low"])) != std::string::npos);
  CHECK(way(fmt::format("{} random edges (mean of 5 draws)", count))
            .find("\t" + percent_of(place.circuit["surviving_random"]["faithfulness"]["mean"]) + " %") !=
        std::string::npos);
  const double clean = place.circuit["clean"]["mean"], corrupted = place.circuit["corrupted"]["mean"];
  CHECK(panel_text(*chromium).find(fmt::format("at the mark ({} %) both answers are equally probable",
                                               percent_of(-corrupted / (clean - corrupted)))) != std::string::npos);

  // The table of heads has a row for each, as the program measured it.
  const Json& shown = place.circuit["example"];
  const Json& one = shown["heads"][0];
  REQUIRE(shown["heads"].size() == 3);
  const auto word = [&](const char* text, const Json& token) {
    return shown[text][token.get<std::size_t>()].get<std::string>();
  };
  chromium->run("document.querySelectorAll('#panel details').forEach((one) => { one.open = true; })");
  chromium->settle();
  CHECK(chromium->run("document.querySelector('#panel details tbody').children.length") == 3);
  const std::string row = chromium->text("document.querySelector('#panel details tbody tr').innerText");
  std::string numbers;  // of the edges from this head
  for (std::size_t i = 0; i < place.circuit["edges"].size(); ++i) {
    const Json& from = place.circuit["edges"][i]["from"];
    if (from["layer"] == 0 && from["head"] == one["head"])
      numbers += (numbers.empty() ? "" : ", ") + std::to_string(i + 1);
  }
  CHECK(row.starts_with(
      fmt::format("layer 1 head {}\t{}\t{}", one["head"].get<int>() + 1, numbers, word("tokens", one["token"]))));
  for (const auto& [text, attended] : {std::pair("tokens", "attends_to"), {"corrupted", "corrupted_attends_to"}}) {
    CHECK(row.find("\t" + word(text, one[attended]["token"])) != std::string::npos);
    CHECK(row.find(fmt::format(" {:.2f}\t", one[attended]["weight"].get<double>())) != std::string::npos);
  }
  const double effect = one["effect_at_token"].get<double>();
  CHECK(row.ends_with(fmt::format("{}{:.2f}", effect < 0 ? "−" : "+", std::abs(effect))));
  const std::string told = chromium->text("document.querySelector('#panel .edges').innerText");
  const std::string head = fmt::format("Here “{}", word("tokens", one["token"]));
  const std::string weight = fmt::format("” ({:.2f}), with “", one["attends_to"]["weight"].get<double>());
  CHECK(told.find(head) != std::string::npos);
  CHECK(told.find(weight, told.find(head)) != std::string::npos);

  // The main path is told in words if it alone was measured and keeps at least half as much as the edges that survive.
  const auto told_with = [&](const char* parts) {
    return chromium->run(
        fmt::format("(({{main_path, surviving: {{faithfulness, right}}, ...rest}}) => {{ const edges = "
                    "[...main_path].sort((a, b) => a - b); return pathInWords({{...rest, main_path, "
                    "surviving: {{faithfulness}}, parts: {}}}).length; }})(runNow().circuit)",
                    parts));
  };
  CHECK(told_with("[]") == 0);
  CHECK(told_with("[{edges, faithfulness, right}]") == 2);
  CHECK(told_with("[{edges, faithfulness: {...faithfulness, mean: 0.1}, right}]") == 0);
  CHECK(told_with("[{edges, faithfulness: {...faithfulness, low: -0.1}, right}]") == 0);

  // Each edge is removed from the list by a key, and measured.
  for (int i = 0; i < 5; ++i) {
    chromium->run(fmt::format("document.querySelectorAll('.edges button')[{}].focus()", i));
    CHECK(chromium->run("document.querySelectorAll('.picture path[stroke-opacity=\"1\"]').length").get<int>() == 1);
    chromium->press("Enter");
    const std::string text = panel_text(*chromium);
    CAPTURE(i, text);
    CHECK(text.find("Without ") != std::string::npos);
    const bool is_broken = text.find("no path leads to the answer, and nothing is kept") != std::string::npos;
    CHECK(is_broken != (text.find("They go ") != std::string::npos));
    chromium->click("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Put all back')");
    CHECK(panel_text(*chromium).find("Press an edge or a head to remove it") != std::string::npos);
    CHECK(chromium->run("document.activeElement === document.querySelector('.edges button')").get<bool>());
  }
  chromium->run("document.querySelectorAll('.edges .list button').forEach((one) => one.click())");
  CHECK(panel_text(*chromium).find("Without any edge, no path leads to the answer") != std::string::npos);
  chromium->click("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Put all back')");

  // A click on the box of layer 2 head 1 leaves the path through head 2.
  const int strong = chromium->run("runNow().circuit.edges.findIndex(({name}) => name === 'layer 2 head 1 -> logits')");
  double share = 0;
  for (const Json& part : place.circuit["parts"]) {
    const auto left = part["edges"].get<std::vector<int>>();
    if (left.size() == 3 && std::ranges::find(left, strong) == left.end()) share = part["faithfulness"]["mean"];
  }
  CHECK((share > 0.2 && share < 0.7));
  chromium->click(
      "[...document.querySelectorAll('.picture rect.head')].find((one) => one.nextElementSibling.textContent === "
      "'head 1')");
  CHECK(panel_text(*chromium).find(
            fmt::format("Without edge {} (layer 2 head 1), 3 of 5 edges are on a path to the answer. They go ",
                        strong + 1) +
            fmt::format("{:.1f} %", 100 * share)) != std::string::npos);
  CHECK(chromium->complaints() == std::vector<std::string>{});

  // Removals that were not measured name the command that measures them.
  chromium->run("runNow().circuit.parts.length = 1; update({})");
  chromium->settle();
  CHECK(panel_text(*chromium).find("inspect circuit RUN --without \"layer 2 head 1 -> logits\"") != std::string::npos);

  // The same in Chinese.
  chromium->open(place.file, 1280, false, "#view=circuit&language=zh");
  chromium->run("document.querySelectorAll('.edges button')[1].click()");
  chromium->run("document.querySelectorAll('#panel details').forEach((one) => { one.open = true; })");
  chromium->settle();
  CHECK(chromium->run("document.querySelector('#panel').innerText.match(/[A-Za-z]{3,}/g).filter((word) => "
                      "!['SVG', 'PNG', 'CSV', 'MLP', 'logit', 'log', 'inspect', 'circuit', 'RUN', 'deeplift', 'eap', "
                      "'exact'].includes(word))") == Json::array());
  CHECK(panel_text(*chromium).find("5 条边中还有 3 条通向答案") != std::string::npos);
}

TEST_CASE("The link captures the edges removed from the circuit") {
  Browser* chromium = browser();
  if (!chromium) return;
  const CircuitPage place;
  chromium->open(place.file, 1280, false, "#view=circuit");
  for (const int i : {3, 1}) chromium->click(fmt::format("document.querySelectorAll('.edges button')[{}]", i));
  chromium->wait_for("location.hash.includes('edges=2%2C4&')");
  const std::string link = chromium->text("location.hash"), text = panel_text(*chromium);
  CHECK(text.find("Without ") != std::string::npos);
  chromium->open(place.file, 1280, false, link);
  CHECK(panel_text(*chromium) == text);
  chromium->run("history.pushState(null, '', '#view=circuit'), followAddress()");
  chromium->settle();
  CHECK(panel_text(*chromium).find("Press an edge or a head to remove it") != std::string::npos);
  chromium->open(place.file, 1280, false, "#view=circuit&edges=1,6,x");
  CHECK(chromium->run("[...state.edges]") == Json::array({0}));
  CHECK(chromium->text("header.lost.textContent") == "This page does not have what its link names: edge 6; edge x");
  CHECK(chromium->complaints() == std::vector<std::string>{});
}

TEST_CASE("The page says why a run has no circuit") {
  Browser* chromium = browser();
  if (!chromium) return;
  const CircuitPage place(true);
  CHECK(place.circuit["verdict"] != "circuit");
  chromium->open(place.file, 1280, false, "#view=circuit");
  CHECK(panel_text(*chromium).starts_with("There is no circuit to report: "));
  CHECK(panel_text(*chromium).find("is reported because") == std::string::npos);
  CHECK(chromium->run("document.querySelectorAll('.picture, .edges').length") == 0);
  CHECK(chromium->complaints() == std::vector<std::string>{});
}
