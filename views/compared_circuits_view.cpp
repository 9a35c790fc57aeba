#include "views/compared_circuits_view.h"

#include "views/circuit_view.h"

#include <heed/tokenizers/graphemes.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace heed {

std::string compared_circuits_view(const ComparedCircuits& compared, const View& view) {
  const Terminal& terminal = view.terminal;
  const int all = static_cast<int>(compared.models.size());
  const auto in_all = std::ranges::count_if(compared.rows, [&](const ComparedCircuits::Row& row) {
    return compared.found > 0 && row.surviving == compared.found;
  });
  std::string text =
      paragraph(compared.found == 0 ? fmt::format("None of {} has a circuit to report.", counted(all, "model"))
                                    : fmt::format("{} of {} {} a circuit to report; {} of edges {}{}.", compared.found,
                                                  counted(all, "model"), compared.found == 1 ? "has" : "have",
                                                  counted(in_all, "kind"), in_all == 1 ? "survives" : "survive",
                                                  compared.found > 1 ? fmt::format(" in all {}", compared.found) : ""),
                terminal);
  int widest = 5;
  for (const ComparedCircuits::Model& model : compared.models) widest = std::max(widest, display_width(model.name));
  widest = std::min(widest, 24);
  text += "\n" + fit_width("model", widest) + "  edges  survive  faithfulness\n";
  for (const ComparedCircuits::Model& model : compared.models) {
    const CircuitStudy& study = model.study;
    const bool is_found = study.verdict == CircuitStudy::Verdict::circuit;
    text += fit_width(model.name, widest);
    text += is_found ? fmt::format("  {:>5}  {:>7}  {}\n", study.circuit.edges,
                                   std::ranges::count_if(study.edges, &CircuitStudy::Edge::survives),
                                   share_text(study.circuit.faithfulness))
                     : fmt::format("  none: {}\n", name_of(study.verdict));
  }
  if (compared.found == 0) return text;
  text += "\n" + fit_width("edge", 44) + "survives   in circuit   effect\n";
  for (const ComparedCircuits::Row& row : compared.rows) {
    text += fit_width(row.name, 44) + fmt::format("{:>8} {:>12} {:>+8.2f}\n",
                                                  fmt::format("{} of {}", row.surviving, compared.found),
                                                  fmt::format("{} of {}", row.circuits, compared.found), row.effect);
  }
  return text;
}

std::string matched_circuits_view(const MatchedCircuits& matched, int found, const View& view) {
  std::string text =
      "\n" +
      paragraph(fmt::format("Edges between heads that do the same, named by the heads of {}, the run most like the "
                            "others. Matched heads are {:.2f} alike, by chance {:.2f}.",
                            matched.reference, matched.similarity, matched.random),
                view.terminal);
  text += "\n" + fit_width("edge", 42) + "survives in circuit by chance   effect\n";
  for (const MatchedCircuits::Row& row : matched.rows) {
    text += fit_width(row.name, 42) +
            fmt::format("{:>8}{:>11}{:>10}{:>+9.2f}\n", fmt::format("{} of {}", row.surviving, found),
                        fmt::format("{} of {}", row.circuits, found),
                        std::isnan(row.by_chance) ? "-" : fmt::format("{:.1f}", row.by_chance), row.effect);
  }
  return text + "\n" +
         legend({{"by chance", "circuits expected to have the edge if the heads of each layer were matched at random"}},
                view.terminal);
}

Json matched_circuits_json(const MatchedCircuits& matched) {
  Json rows = Json::array();
  for (const MatchedCircuits::Row& row : matched.rows) {
    rows.push_back({{"name", row.name},
                    {"circuits", row.circuits},
                    {"surviving", row.surviving},
                    {"effect", row.effect},
                    {"by_chance", std::isnan(row.by_chance) ? Json() : Json(row.by_chance)}});
  }
  return {{"reference", matched.reference},
          {"similarity", matched.similarity},
          {"random", matched.random},
          {"rows", std::move(rows)}};
}

Json compared_circuits_json(const ComparedCircuits& compared) {
  Json models = Json::array(), rows = Json::array();
  for (const ComparedCircuits::Model& model : compared.models) {
    models.push_back({{"name", model.name}, {"step", model.step}, {"study", circuit_json(model.study)}});
  }
  for (const ComparedCircuits::Row& row : compared.rows) {
    rows.push_back(
        {{"name", row.name}, {"circuits", row.circuits}, {"surviving", row.surviving}, {"effect", row.effect}});
  }
  return {{"models", std::move(models)}, {"found", compared.found}, {"rows", std::move(rows)}};
}

}  // namespace heed
