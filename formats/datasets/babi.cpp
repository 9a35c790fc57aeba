#include "files/internal/ascii.h"

#include <heed/files/file.h>
#include <heed/files/text_file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/babi.h>
#include <heed/tokenizers/tokenize.h>

#include <algorithm>
#include <charconv>

namespace heed {
namespace {

constexpr std::size_t max_tokens_asked = 20'000'000;  // limit; a story of n lines may give n^2 tokens

struct Statement {
  int id;
  std::vector<std::string> tokens;
};

bool read_id(std::string_view text, int& id) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), id);
  return problem == std::errc() && end == text.data() + text.size() && id > 0;
}

// Joins the statements and the question to one text.
Example ask(const std::vector<Statement>& story, std::vector<std::string> question, const std::string& answer,
            const std::vector<const Statement*>& supporting) {
  Example example;
  const Statement* source = nullptr;
  for (const Statement* statement : supporting) {
    if (index_of(answer, statement->tokens) >= 0) source = statement;
  }
  for (std::size_t i = 0; i < story.size(); ++i) {
    const std::vector<std::string>& tokens = story[i].tokens;
    if (&story[i] == source) {
      example.antecedent = static_cast<int>(example.tokens.size()) + index_of(answer, tokens);
    }
    example.tokens.insert(example.tokens.end(), tokens.begin(), tokens.end());
    example.sentences.insert(example.sentences.end(), tokens.size(), static_cast<int>(story.size() - i));
  }
  example.sentences.insert(example.sentences.end(), question.size(), 0);
  std::move(question.begin(), question.end(), std::back_inserter(example.tokens));
  example.query = static_cast<int>(example.tokens.size()) - 2;  // before the "?"
  example.answer = answer;
  return example;
}

// Parses "question?", answer and supporting IDs; reports mistakes to `file`.
void read_question(TextFile& file, std::size_t line, std::string_view text, const std::vector<Statement>& story,
                   std::vector<Example>& examples) {
  const std::vector<std::string_view> fields = split_at(text, '\t');
  if (fields.size() != 3) {
    return file.mistake(line,
                        "expected a question, its answer and its supporting IDs, separated by tabs, got {} fields",
                        fields.size());
  }
  std::vector<std::string> question = tokenize(fields[0], Split::words);
  if (question.size() < 2 || question.back() != "?") {
    return file.mistake(line, "expected a question that ends in '?', got '{}'", excerpt(without_spaces(fields[0])));
  }
  const std::string_view answer = without_spaces(fields[1]);
  if (answer.empty()) return file.mistake(line, "expected an answer after the question, got nothing");
  std::vector<const Statement*> supporting;
  for (const std::string_view part : split_at(without_spaces(fields[2]), ' ')) {
    int id = 0;
    const bool number = read_id(part, id);
    const auto found = std::ranges::find(story, id, &Statement::id);
    if (!number || found == story.end()) {
      return file.mistake(line, "expected the ID of a statement above in this story, got '{}'", excerpt(part));
    }
    supporting.push_back(&*found);
  }
  examples.push_back(ask(story, std::move(question), std::string(answer), supporting));
  examples.back().source = file.at(line);
}

std::vector<std::vector<Example>> read_all(const std::string& paths) {
  std::vector<std::vector<Example>> stories;
  for (const std::string& path : divided_paths(paths)) {
    std::vector<std::vector<Example>> more = read_babi(path);
    std::move(more.begin(), more.end(), std::back_inserter(stories));
  }
  return stories;
}

void append(std::vector<Example>& set, std::vector<std::vector<Example>> stories) {
  for (std::vector<Example>& story : stories) std::move(story.begin(), story.end(), std::back_inserter(set));
}

}  // namespace

std::vector<std::vector<Example>> read_babi(const std::filesystem::path& path) {
  TextFile file(path);
  std::vector<std::vector<Example>> stories;
  std::vector<Statement> story;
  std::size_t tokens_asked = 0;  // in all questions, each with its story so far
  int previous = 0;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    const std::string_view line = file.lines()[i];
    const std::size_t space = std::min(line.find(' '), line.size());
    int id = 0;
    if (!read_id(line.substr(0, space), id) || (id != 1 && id != previous + 1)) {
      file.mistake(i + 1, "expected the ID {} and a text, or 1 for a new story, got '{}'", previous + 1, excerpt(line));
      previous = id > 0 ? id : previous + 1;
      continue;
    }
    if (id == 1 || stories.empty()) {
      stories.emplace_back();
      story.clear();
    }
    previous = id;
    const std::string_view text = line.substr(std::min(space + 1, line.size()));
    if (text.find('\t') != std::string_view::npos) {
      const std::size_t before = stories.back().size();
      read_question(file, i + 1, text, story, stories.back());
      if (stories.back().size() > before) tokens_asked += stories.back().back().tokens.size();
      if (tokens_asked > max_tokens_asked) {
        fail(
            "{}: the questions up to here, each with its story, have more than {} tokens; expected shorter stories, "
            "each beginning with ID 1",
            file.at(i + 1).text, max_tokens_asked);
      }
    } else if (std::vector<std::string> tokens = tokenize(text, Split::words); !tokens.empty()) {
      story.push_back({id, std::move(tokens)});
    } else {
      file.mistake(i + 1, "expected a statement or question after the ID, got nothing");
    }
  }
  file.finish();
  const std::string name = path.filename().string();
  std::size_t questions = 0;
  for (std::vector<Example>& examples : stories) {
    for (Example& example : examples) example.relation = name.substr(0, name.find('_'));
    questions += examples.size();
  }
  if (questions == 0) fail("{}: no questions; expected \"ID question?<tab>answer<tab>IDs\"", file.name());
  return stories;
}

Task babi_task(const std::string& train, const std::string& test, const Random& random, Fold fold) {
  Task task;
  task.name = "babi";
  if (test.empty()) {
    hold_out(task, read_all(train), fold, random.stream("held_out"));
  } else {
    append(task.train, read_all(train));
    append(task.held_out, read_all(test));
  }
  complete(task);
  return task;
}

}  // namespace heed
