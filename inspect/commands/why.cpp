#include "inspect/commands/shared.h"
#include "views/written_tokens.h"

#include <heed/explain/score_parts.h>

namespace heed {

const Command why_command{.name = "why",
                          .summary = "Splits the score of a head's attention into parts that sum to it",
                          .example = "inspect why runs/toy --probe 1",
                          .shared = "sentence query probe step layer head json",
                          .answer = [](const Request& request) {
                            const std::filesystem::path& run = request.runs[0];
                            Reading read = reading_of(request, Tokens::pieces);
                            Dump& dump = read.dump;
                            const std::vector<SentenceAttention> watched = dump.sentences;
                            choose_probe(request, dump);
                            const Model model = request.has("sentence")
                                                    ? std::move(*read.model)
                                                    : model_of(run, step_of(request), request.progress);
                            if (reads_pieces(model) && !request.has("sentence")) {
                              fail(
                                  "{}: watched sentences are kept as whole words, but the model reads pieces of words; "
                                  "give inspect why a --sentence",
                                  run.string());
                            }
                            check_same_model(dump, model, dump_path(run, dump.step).string());
                            std::vector<ScoreParts> all = why_attends(model, dump, watched, request.view);
                            if (request.has("json")) {
                              Json parts = Json::array();
                              for (const ScoreParts& one : all) parts.push_back(score_parts_json(one));
                              return json_line(parts);
                            }
                            for (std::size_t i = 0; i < all.size(); ++i) {
                              const Example example = question(dump.sentences[i]);
                              all[i].answer = shown_answer(model.tokenizer, example, all[i].answer);
                              all[i].tokens = shown_tokens(model.tokenizer, all[i].tokens);
                            }
                            return why_attends_view(all, dump, request.view);
                          }};

}  // namespace heed
