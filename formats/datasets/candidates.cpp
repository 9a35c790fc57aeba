#include <heed/data/overlap.h>
#include <heed/files/file.h>
#include <heed/files/text_file.h>
#include <heed/formats/datasets/candidates.h>
#include <heed/formats/datasets/jsonl.h>

#include <algorithm>

namespace heed {
namespace {

bool is_there(const std::string& file) {
  std::error_code too_long;
  return std::filesystem::exists(file, too_long);
}

std::vector<MarkedText> of_jsonl(const std::string& path) {
  std::vector<Example> examples = read_jsonl(path, Spaces::refused);
  name_candidates(examples);
  if (std::ranges::all_of(examples, [](const Example& e) { return e.counterpart < 0; })) pair_counterparts(examples);
  std::vector<MarkedText> texts;
  for (const Example& example : examples) texts.push_back(marked_text(example));
  return texts;
}

// Splits "a.tsv#en/one,en/two,b.jsonl" into "a.tsv#en/one,en/two" and "b.jsonl": after a '#', a part that is not a file
// name is a set.
std::vector<std::string> divided_files(const std::string& files) {
  std::vector<std::string> result;
  for (const std::string& part : divided_paths(files)) {
    const bool is_set = !result.empty() && result.back().find('#') != std::string::npos &&
                        part.find('#') == std::string::npos && !is_there(part);
    if (is_set) {
      result.back() += "," + part;
    } else {
      result.push_back(part);
    }
  }
  return result;
}

}  // namespace

void name_candidates(std::vector<Example>& examples) {
  for (std::size_t i = 0; i < examples.size(); ++i) {
    Example& example = examples[i];
    if (!example.candidates.empty()) continue;
    if (example.antecedent < 0 || example.distractor < 0) {
      fail(
          "{}: expected a question with \"candidates\", or with \"antecedent\" and \"other\"",
          example.source.text.empty() ? fmt::format("sentence {} of {}", i + 1, examples.size()) : example.source.text);
    }
    const auto [first, second] = std::minmax(example.antecedent, example.distractor);
    example.candidates = {{first, first + 1}, {second, second + 1}};
    choose(example, example.antecedent == second);
  }
}

std::vector<MarkedText> read_candidates(const std::string& file) {
  const std::size_t hash = file.rfind('#');
  const bool is_schemas = hash != file.npos && !is_there(file);
  const std::string path = is_schemas ? file.substr(0, hash) : file;
  std::string first;  // the first line
  {
    const TextFile text(path);
    for (const std::string_view line : text.lines()) {
      first = line;
      if (!first.empty()) break;
    }
  }
  const auto is_of_schemas = [&] { return std::ranges::count(first, '\t') == 6 && first.ends_with(']'); };
  if (is_schemas && !is_of_schemas()) {
    fail("{}: '#{}' selects sets of Winograd schemas, but the file's first line is not a schema", path,
         file.substr(hash + 1));
  }
  std::vector<MarkedText> texts;
  if (is_of_schemas()) {
    texts = read_winograd(path, is_schemas ? file.substr(hash + 1) : "");
  } else if (first.starts_with("ID\tText\tPronoun")) {
    texts = read_gap(path);
  } else if (first.starts_with('{') && first.find("\"option1\"") != first.npos) {
    texts = read_winogrande(path);
  } else if (!first.empty() && first[0] >= '0' && first[0] <= '9' && first.find('[') != first.npos) {
    texts = read_winobias(path);
  } else {
    texts = of_jsonl(path);
  }
  if (texts.empty()) fail("{}: no sentences", file);
  return texts;
}

std::vector<MarkedText> read_all_candidates(const std::string& files) {
  std::vector<MarkedText> all;
  for (const std::string& file : divided_files(files)) append_set(all, read_candidates(file));
  return all;
}

std::vector<Example> cut_all(const std::vector<MarkedText>& texts, const Tokenizer& tokenizer) {
  std::vector<Example> examples;
  for (const MarkedText& text : texts) {
    try {
      examples.push_back(cut(text, tokenizer));
    } catch (const Error& error) {
      fail("{}: {}", text.source.text, error.what());
    }
  }
  leave_out_if(examples, [](const Example& example) {
    const auto& all = example.candidates;
    for (auto one = all.begin(); one != all.end(); ++one) {
      if (std::find(one + 1, all.end(), *one) != all.end()) return true;
    }
    return false;
  });
  return examples;
}

TokenizedTask candidates_task(const std::string& train, const std::string& test, Split split, int vocabulary,
                              const Random& random, const std::optional<Tokenizer>& known, Fold fold) {
  TokenizedTask task;
  task.name = "candidates";
  const std::vector<MarkedText> texts = read_all_candidates(train);
  if (split == Split::subwords) {
    std::vector<std::string_view> sentences;
    for (const MarkedText& text : texts) sentences.push_back(text.text);
    task.tokenizer = known ? *known : Tokenizer::of_text(Subwords::learn(sentences, vocabulary));
  } else {
    task.tokenizer = Tokenizer(split);
  }
  std::vector<Example> examples = cut_all(texts, task.tokenizer);
  task.alike_left_out = texts.size() - examples.size();
  if (!test.empty()) {
    const std::vector<MarkedText> tests = read_all_candidates(test);
    task.train = std::move(examples);
    task.held_out = cut_all(tests, task.tokenizer);
    task.alike_left_out += tests.size() - task.held_out.size();
  } else {
    hold_out(task, with_counterparts(examples, sentence_number), fold, random.stream("held_out"));
  }
  task.known_left_out = leave_out(task.held_out, sentence_numbers(task.train));
  if (task.held_out.empty()) fail("data.test: every sentence is also in the training set; expected others to test on");
  complete(task);
  if (task.tokenizer.is_of_text()) task.vocabulary = Vocabulary(task.tokenizer.known_tokens());
  return task;
}

}  // namespace heed
