#include "inspect/commands/shared.h"

#include <heed/explain/generated_pairs.h>

#include <fmt/format.h>

namespace heed {
namespace {

// Returns the value of an option among the names of an enumeration.
template <class E>
E named_choice(const char* option, const std::string& name) {
  if (const auto value = value_named<E>(name)) return *value;
  misused("expected one of {} as --{}, got '{}'", listed(names_of<E>()), option, name);
}

std::string written_pairs(const Request& request) {
  const auto task = request.given<std::string>("task");
  if (!task) misused("expected --task, one of {}", listed(names_of<Behaviour>()));
  const auto behaviour = named_choice<Behaviour>("task", *task);
  PairOptions options;
  options.count = request.given<int>("count").value_or(options.count);
  constexpr int max_pairs = 1'000'000;
  if (options.count < 1 || options.count > max_pairs) {
    misused("--count: expected a number from 1 to {}, got {}", max_pairs, options.count);
  }
  options.progress = request.progress;
  options.seed = request.given<std::uint64_t>("seed").value_or(options.seed);
  if (const auto language = request.given<std::string>("language")) {
    options.language = named_choice<PairLanguage>("language", *language);
  }
  const Model model = model_of(request.runs[0], step_of(request), request.progress);
  std::string text;
  for (const WrittenPair& pair : generate_pairs(model, behaviour, options)) text += pair_line(pair) + "\n";
  return text;
}

}  // namespace

const Command pairs_command{
    .name = "pairs",
    .summary = "Generates pairs of texts for inspect circuit",
    .example = "inspect pairs runs/words --task induction --count 20",
    .shared = "step",
    .declare =
        [](cxxopts::OptionAdder& options) {
          const auto text = [] { return cxxopts::value<std::string>(); };
          options("task",
                  "What the answer depends on: ioi (which of two names), greater_than (a year), agreement (of a verb; "
                  "in Chinese of a classifier), gender (of a person) or induction (a repetition)",
                  text(), "NAME")                                                            //
              ("language", "Language of the texts: en or zh (default: en)", text(), "NAME")  //
              ("count", "Number of pairs (default: 100)", cxxopts::value<int>(), "N")        //
              ("seed", "Seed of the choice of words (default: 1)", cxxopts::value<std::uint64_t>(), "N");
        },
    .answer = written_pairs};

}  // namespace heed
