#include "train/report.h"

#include "autograd/cpu/blas.h"
#include "autograd/cpu/rates.h"
#include "autograd/cpu/thread_pool.h"
#include "run/internal/baselines.h"
#include "run/internal/program.h"
#include "train/relations.h"
#include "views/view.h"
#include "views/written_tokens.h"

#include <heed/autograd/autocast.h>
#include <heed/autograd/machine.h>
#include <heed/data/overlap.h>
#include <heed/data/unknown_words.h>
#include <heed/explain/studies/report.h>
#include <heed/files/utf8.h>
#include <heed/tokenizers/graphemes.h>
#include <heed/tokenizers/tokenize.h>
#include <heed/version.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

namespace heed {
namespace {

// Returns "d_model 128, mlp 512".
std::string widths_text(const TransformerConfig& config) {
  const AttentionConfig& a = config.block.attention;
  const bool divides = a.d_model % a.heads == 0;
  return fmt::format(
      "d_model {}{}{}", a.d_model,
      divides ? "" : fmt::format(" (not divided by {} heads, so d_k {} and d_v {})", a.heads, a.d_k, a.d_v),
      config.block.mlp.width ? fmt::format(", mlp {}", config.block.mlp.width) : "");
}

std::string model_line(const Experiment& e) {
  const TransformerConfig& config = e.model.transformer().config;
  const bool adapts = !e.model.config().adapter.layers.empty();
  return fmt::format("{}, {} each, {}: {} parameters{}", plural(config.layers, "layer"), plural(config.heads(), "head"),
                     widths_text(config), grouped(e.model.parameters.numel()),
                     adapts ? fmt::format(", {} of them trained", grouped(trained_numel(e.model.parameters))) : "");
}

std::string data_line(const Experiment& e) {
  if (e.task.corpus) {
    const char* tokens = name_of(e.model.tokenizer.split());
    return fmt::format("{}: {} {} to learn from, {} held out, {} different; context {}", e.task.name,
                       grouped(e.task.corpus->train.size()), tokens, grouped(e.task.corpus->held_out.size()),
                       grouped(e.task.vocabulary.size()), grouped(e.task.corpus->context));
  }
  return fmt::format("{}: {} examples to learn from, {} held out, {} words{}", e.task.name,
                     grouped(std::ssize(e.task.train)), grouped(std::ssize(e.task.held_out)),
                     grouped(e.task.vocabulary.size()),
                     e.config.data.shuffle_antecedents ? "; ANTECEDENTS SHUFFLED" : "");
}

// Returns the queries and answers of a file of sentences as heed read them. They reveal an index that was counted from
// 1.
std::string asked_line(const TokenizedTask& task) {
  std::map<std::string, std::int64_t> asked, meant;
  std::int64_t counterparts = 0;
  for (const std::vector<Example>* set : {&task.train, &task.held_out}) {
    for (const Example& example : *set) {
      const std::string& query = example.tokens[static_cast<std::size_t>(example.query)];
      ++asked[example.source.query.empty() ? shown_token(task.tokenizer, query) : example.source.query];
      const bool is_span = example.chosen >= 0 && !example.candidates.empty();
      const std::string answer =
          is_span ? text_of(example, example.candidates[static_cast<std::size_t>(example.chosen)]) : example.answer;
      ++meant[answer.empty() ? "(none)" : shown_answer(task.tokenizer, example, answer)];
      counterparts += example.counterpart >= 0;
    }
  }
  const auto max_first = [](const std::map<std::string, std::int64_t>& counts) {
    constexpr std::size_t most = 4;
    std::vector<std::pair<std::string, std::int64_t>> words(counts.begin(), counts.end());
    std::ranges::stable_sort(words, std::greater(), &std::pair<std::string, std::int64_t>::second);
    std::string text;
    for (std::size_t i = 0; i < std::min(most, words.size()); ++i) {
      text += fmt::format("{}'{}' {}", i > 0 ? ", " : "", excerpt(words[i].first, 20), grouped(words[i].second));
    }
    return text + (words.size() > most ? fmt::format(", and {} more", words.size() - most) : "");
  };
  return fmt::format("{}; answers: {}; {}", max_first(asked), max_first(meant),
                     plural(counterparts / 2, "minimal pair"));
}

// Returns a line about the tokens of a file that typed input cannot contain; "" without such tokens.
std::string untypable_line(const Experiment& e) {
  std::vector<std::string> words;
  for (const std::string& word : e.task.vocabulary.words()) {
    if (tokenize(word, e.config.data.split) != std::vector{word}) words.push_back(word);
  }
  if (words.empty()) return "";
  return fmt::format("'{}'{} cannot occur in typed input, which is cut into {}: {}", excerpt(words[0], 30),
                     words.size() > 1 ? fmt::format(" and {} more tokens", words.size() - 1) : "",
                     e.config.data.split == Split::words ? "words and punctuation" : "characters",
                     excerpt(fmt::format("{}", fmt::join(tokenize(words[0], e.config.data.split), " ")), 40));
}

// Returns the character that begins with the last one of token `i` - 1 and goes on in token `i`, as an emoji of several code points
// that a file cuts; "" if there is none, or if typed input can have both tokens.
std::string cut_character(const std::vector<std::string>& tokens, std::size_t i, Split split) {
  constexpr std::size_t most = 16;
  if (tokens[i][0] >= 0) return "";  // ASCII does not continue a character
  const std::string begin(graphemes(tokens[i - 1]).back().text);
  std::string text = begin + tokens[i];
  if (graphemes(text)[0].text == begin) return "";
  for (std::size_t k = i + 1; k < std::min(tokens.size(), i + most); ++k) text += tokens[k];
  const std::string character(graphemes(text)[0].text);
  const bool joins_words = tokenize("x" + begin, split).size() == 1;  // a space keeps them apart
  const bool has_own_place = tokenize("x " + tokens[i], split) == std::vector<std::string>{"x", tokens[i]};
  return character.size() > begin.size() && !(joins_words && has_own_place) ? character : "";
}

// Returns a line about characters of a file that are several tokens there, but one token of typed input; "" without any.
std::string cut_characters_line(const Experiment& e) {
  std::vector<std::string> characters;
  for (const std::vector<Example>* set : {&e.task.train, &e.task.held_out}) {
    for (const Example& example : *set) {
      for (std::size_t i = 1, end = 0; i < example.tokens.size(); ++i) {
        const std::string character = i < end ? "" : cut_character(example.tokens, i, e.config.data.split);
        if (character.empty()) continue;
        end = i;
        for (std::size_t bytes = graphemes(example.tokens[i - 1]).back().text.size(); bytes < character.size(); ++end)
          bytes += example.tokens[end].size();
        if (std::ranges::find(characters, character) == characters.end()) characters.push_back(character);
      }
    }
  }
  if (characters.empty()) return "";
  return fmt::format("'{}'{} several tokens in the file, but one token in typed input", characters[0],
                     characters.size() > 1 ? fmt::format(" and {} more are", characters.size() - 1) : " is");
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  return fmt::format("{:.0f} %",
                     100 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1)));
}

// Returns lines about the unknown words of the held-out sentences, and about those left out because training has them.
std::vector<std::string> notes_on_unknown(const Experiment& e) {
  std::vector<std::string> lines;
  if (e.task.vocabulary.unknown()) {
    const UnknownShare test = unknown_share(e.task.held_out, e.task.vocabulary);
    lines.push_back(fmt::format(
        "words  {} of the {} words in held-out sentences are unknown, and {} of the {} different words: not {} in "
        "training",
        share_text(test.unknown_words, test.words), grouped(test.words), share_text(test.unknown_types, test.types),
        grouped(test.types),
        e.config.data.min_count == 1 ? "seen" : fmt::format("seen {} times", grouped(e.config.data.min_count))));
  }
  if (e.task.known_left_out > 0) {
    lines.push_back(fmt::format("note   {} left out: the training set has {}, too",
                                plural(static_cast<std::int64_t>(e.task.known_left_out), "held-out sentence"),
                                e.task.known_left_out == 1 ? "it" : "them"));
  }
  return lines;
}

// Returns a line about sentences that occur more than once; "" where each is there once.
std::string repetitions_line(const Task& task) {
  std::unordered_set<std::uint64_t> different;
  for (const std::vector<Example>* set : {&task.train, &task.held_out}) {
    for (const Example& example : *set) different.insert(question_number(example));
  }
  const std::int64_t all = std::ssize(task.train) + std::ssize(task.held_out);
  if (std::ssize(different) == all) return "";
  return fmt::format("note   {} of {} different: repetitions are all in the training set or all held out",
                     grouped(std::ssize(different)), plural(all, "sentence"));
}

// Returns a line about sentences that occur with different answers; "" without any.
std::string contradictions_line(const TokenizedTask& task) {
  constexpr std::size_t most = 3;
  std::unordered_map<std::uint64_t, std::pair<const Example*, bool>> first;  // of each sentence; whether it is listed
  std::vector<std::pair<std::string, std::string>> lines;
  for (const std::vector<Example>* set : {&task.train, &task.held_out}) {
    for (const Example& example : *set) {
      auto& [known, is_listed] = first.try_emplace(question_number(example), &example, false).first->second;
      const bool is_same = known->antecedent == example.antecedent && known->answer == example.answer;
      if (is_listed || is_same) continue;
      is_listed = true;
      lines.emplace_back(known->source.text, example.source.text);
    }
  }
  if (lines.empty()) return "";
  const auto in_file_order = [](const std::string& a, const std::string& b) {  // "mine.jsonl:9" before "mine.jsonl:10"
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  };
  for (auto& [a, b] : lines) {
    if (in_file_order(b, a)) std::swap(a, b);
  }
  std::ranges::sort(lines, in_file_order, &std::pair<std::string, std::string>::first);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, lines.size()); ++i) {
    const auto& [a, b] = lines[i];
    const bool same_file = a.substr(0, a.rfind(':')) == b.substr(0, b.rfind(':'));
    text += fmt::format("{}{} and {}", i > 0 ? ", " : "", a, same_file ? b.substr(b.rfind(':') + 1) : b);
  }
  return fmt::format("note   {} two answers: {}{}",
                     lines.size() == 1 ? "1 sentence has" : plural(std::ssize(lines), "sentence") + " have", text,
                     lines.size() > most ? fmt::format(", and {} more", lines.size() - most) : "");
}

// Returns lines about held-out words that training does not have, though the vocabulary has them, and about whole sentences
// that it has.
std::vector<std::string> notes_on_unseen(const Task& task) {
  std::vector<std::string> lines;
  Vocabulary trained;
  for (const Example& example : task.train) {
    for (const std::string& token : example.tokens) trained.add(token);
    if (!example.answer.empty()) trained.add(example.answer);
  }
  const UnknownShare test = unknown_share(task.held_out, trained);
  const auto answers = std::ranges::count_if(
      task.held_out, [&](const Example& e) { return !e.answer.empty() && !trained.contains(e.answer); });
  if (!task.vocabulary.unknown() && test.unknown_types > 0) {
    lines.push_back(fmt::format(
        "words  {} of the {} different words in held-out sentences, and {} of {} answers, never occur in training, so "
        "the model cannot learn them. data.unknown: token replaces them by one token; model.answer: candidate chooses "
        "among places instead of words",
        grouped(test.unknown_types), grouped(test.types), grouped(answers), grouped(std::ssize(task.held_out))));
  }
  const std::unordered_set<std::uint64_t> known = sentence_numbers(task.train);
  const auto both =
      std::ranges::count_if(task.held_out, [&](const Example& e) { return known.contains(sentence_number(e)); });
  if (both > 0) {
    lines.push_back(fmt::format("note   {} of the {} held-out sentences {} in the training set, too", grouped(both),
                                grouped(std::ssize(task.held_out)), both == 1 ? "is" : "are"));
  }
  return lines;
}

// Returns lines about the user's own texts or sentences.
std::vector<std::string> notes_on_data(const Experiment& e) {
  if (!e.task.known_texts.empty()) {
    return {fmt::format(
        "note   {}: the held-out text is a part of the training text, so its loss does not measure other texts",
        listed(e.task.known_texts))};
  }
  if (e.config.data.kind != TaskKind::candidates && e.config.data.kind != TaskKind::jsonl) return {};
  std::vector<std::string> lines = {"asked  " + asked_line(e.task)};
  for (std::string& line : notes_on_unknown(e)) lines.push_back(std::move(line));
  if (e.task.alike_left_out > 0) {
    lines.push_back(fmt::format("note   {} left out, in which two candidates have the same tokens",
                                plural(static_cast<std::int64_t>(e.task.alike_left_out), "sentence")));
  }
  if (std::string line = repetitions_line(e.task); !line.empty()) lines.push_back(std::move(line));
  if (std::string line = contradictions_line(e.task); !line.empty() && !e.config.data.shuffle_antecedents) {
    lines.push_back(std::move(line));
  }
  if (e.config.data.kind == TaskKind::candidates) return lines;
  for (std::string& line : notes_on_unseen(e.task)) lines.push_back(std::move(line));
  if (const std::string untypable = untypable_line(e); !untypable.empty()) lines.push_back("note   " + untypable);
  if (const std::string cut = cut_characters_line(e); !cut.empty()) lines.push_back("note   " + cut);
  return lines;
}

// Returns the size of the models of dumped steps: the first step, each multiple of dump.every, and the last step.
std::string dumped_weights(const Experiment& e) {
  const int steps = e.config.optim.schedule.steps, every = e.config.dump.every;
  if (!e.config.dump.weights) return "";
  const std::int64_t dumps = 1 + steps / every + (steps % every != 0);
  return fmt::format(", weights of {} snapshots {}", grouped(dumps), size_text(dumps * e.memory.parameters));
}

}  // namespace

std::string grouped(std::int64_t number) {
  return number < 1000 ? fmt::format("{}", number) : fmt::format("{},{:03}", grouped(number / 1000), number % 1000);
}

std::string plural(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

double tokens_a_step(const Experiment& e) {
  return e.task.corpus ? static_cast<double>(e.config.train.batch_size) * e.task.corpus->context : 0;
}

std::string opening(const Experiment& e, const std::filesystem::path& run, const Terminal& terminal) {
  const int words = e.model.vocabulary.size();
  std::vector<std::string> lines{fmt::format("heed {} ({})  {}, {}", HEED_VERSION, vector_instructions(),
                                             blas_description(), plural(threads(), "thread")),
                                 "model  " + model_line(e), "data   " + data_line(e), "run    " + run.string(),
                                 e.task.corpus
                                     ? fmt::format("The loss is the {} token's cross-entropy, in nats.",
                                                   e.task.corpus->mask < 0 ? "next" : "masked")
                                     : "The loss is the cross-entropy of the answer. It contains no attention weight."};
  if (e.config.train.precision == Precision::bfloat16) {
    lines.emplace_back(
        has_bfloat16_products()
            ? "The products of a step multiply numbers rounded to bfloat16."
            : "The products of a step multiply numbers rounded to bfloat16. This processor has no AMX (and "
              "AMD's AVX512_BF16), so a step takes longer than in float32.");
  }
  if (e.begun_from && e.config.pretrained) {
    const std::vector<std::string>& added = e.begun_from->new_parameters;
    lines.insert(lines.begin() + 3, fmt::format("from   {}, with its tokenizer{}", e.begun_from->file.string(),
                                                added.empty() ? "" : "; started at random: " + listed(added)));
  } else if (e.begun_from) {
    lines.insert(lines.begin() + 3,
                 fmt::format("from   {}, step {}: {} of {} words are known to it{}", e.begun_from->file.string(),
                             e.begun_from->step, grouped(e.begun_from->words_known), grouped(words),
                             e.begun_from->words_known < words ? "; the others start at random" : ""));
  }
  const std::vector<std::string> notes = notes_on_data(e);
  lines.insert(lines.begin() + 3, notes.begin(), notes.end());
  std::string text;
  for (const std::string& line : lines) text += wrapped(line, terminal.width, line.starts_with("The") ? 0 : 7) + "\n";
  return text;
}

std::string resumption(std::int64_t step, const Config& config, const std::vector<std::string>& changes,
                       const Terminal& terminal) {
  std::string line = fmt::format("from   step {} of {}", step, config.optim.schedule.steps);
  if (!changes.empty()) {
    line += fmt::format(": {}; the new schedule holds from there", fmt::join(changes, ", "));
  } else if (step == config.optim.schedule.steps) {
    line += ": nothing is left to train; --set train.steps=N extends it";
  }
  return wrapped(line, terminal.width, 7) + "\n";
}

std::string dry_run(const Experiment& e) {
  const Config& config = e.config;
  const TransformerConfig& model = e.model.transformer().config;
  const std::int64_t tokens = std::int64_t{config.train.batch_size} * e.task.max_length;
  const double all = static_cast<double>(e.task.corpus ? e.task.corpus->train.size() : std::ssize(e.task.train));
  std::vector<std::string> lines{
      fmt::format("model  {} parameters: {} of {}, {}", grouped(e.model.parameters.numel()),
                  plural(model.layers, "layer"), plural(model.heads(), "head"), widths_text(model)),
      "memory " + memory_text(e.memory), "data   " + data_line(e)};
  for (const std::string& line : notes_on_data(e)) lines.push_back(line);
  lines.push_back(fmt::format("steps  {} of {} examples: up to {} tokens per step, {:.1f} times through the data",
                              grouped(config.optim.schedule.steps), grouped(config.train.batch_size), grouped(tokens),
                              static_cast<double>(config.optim.schedule.steps) *
                                  static_cast<double>(e.task.corpus ? tokens : std::int64_t{config.train.batch_size}) /
                                  all));
  lines.push_back(fmt::format("disk   weights {}, checkpoint {}{}", size_text(e.memory.parameters),
                              size_text(e.memory.parameters + e.memory.moments), dumped_weights(e)));
  lines.push_back(fmt::format("heed   {} ({}), {}, {}", HEED_VERSION, vector_instructions(), blas_description(),
                              plural(threads(), "thread")));
  std::string text;
  for (const std::string& line : lines) {
    std::istringstream parts(wrapped(line, 78, 7));
    for (std::string part; std::getline(parts, part);) text += "# " + part + "\n";
  }
  return text + "\n" + to_yaml(config);
}

}  // namespace heed
