#include "files/internal/ascii.h"
#include "tokenizers/internal/json.h"

#include <heed/files/text_file.h>
#include <heed/files/utf8.h>
#include <heed/formats/datasets/published.h>

#include <fmt/ranges.h>

#include <set>

namespace heed {
namespace {

// Returns the position of each token in the sentence. A quotation mark may be written as `` or ''.
std::vector<MarkedText::Place> placed(const Json& tokens, const std::string& sentence) {
  std::vector<MarkedText::Place> places;
  std::size_t at = 0;
  for (const Json& token : tokens) {
    std::string word = token.get<std::string>();
    if (sentence.find(word, at) == sentence.npos && (word == "``" || word == "''")) word = "\"";
    const std::size_t begin = sentence.find(word, at);
    if (begin == sentence.npos) fail("the token '{}' is not in the sentence after the ones before it", excerpt(word));
    at = begin + word.size();
    places.push_back({begin, at});
  }
  return places;
}

MarkedText schema_of(const std::vector<std::string_view>& fields) {
  MarkedText schema;
  schema.text = fields[3];
  const std::vector<MarkedText::Place> tokens = placed(parse_json(fields[4], 1), schema.text);
  const auto place = [&](const Json& marked) {
    const Json& span = marked.at(1);
    const Json &begin = span.at(0), &end = span.at(1);
    const bool are_whole = begin.is_number_integer() && end.is_number_integer();
    if (!are_whole || begin < 0 || begin >= end || end > tokens.size()) {
      fail("expected a span of its {} tokens, got {}", tokens.size(), excerpt(format_json(span)));
    }
    return MarkedText::Place{tokens[begin.get<std::size_t>()].begin, tokens[end.get<std::size_t>() - 1].end};
  };
  schema.query = place(parse_json(fields[5], 2));
  const Json candidates = parse_json(fields[6], 3);
  if (candidates.size() > max_candidates)
    fail("expected at most {} candidates, got {}", max_candidates, candidates.size());
  for (const Json& candidate : candidates) {
    if (candidate.at(3).get<bool>()) {
      if (schema.chosen >= 0) fail("two candidates are true; expected one");
      schema.chosen = static_cast<int>(schema.candidates.size());
    }
    schema.candidates.push_back(place(candidate));
  }
  if (schema.candidates.empty()) fail("no candidates");
  if (schema.chosen < 0) fail("no candidate is true; expected one");
  return schema;
}

}  // namespace

std::vector<MarkedText> read_winograd(const std::filesystem::path& path, const std::string& sets) {
  TextFile file(path);
  std::set<std::string> wanted, known;
  if (!sets.empty()) {
    for (const std::string_view set : split_at(sets, ',')) wanted.emplace(set);
  }
  std::vector<MarkedText> schemas;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    const std::vector<std::string_view> fields = split_at(file.lines()[i], '\t');
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (fields.size() != 7) {
      file.mistake(i + 1,
                   "expected language, set, source, sentence, tokens, pronoun and candidates, separated by tabs; "
                   "got {} fields",
                   fields.size());
      continue;
    }
    const std::string set = fmt::format("{}/{}", fields[0], fields[1]);
    known.insert(set);
    if (!wanted.empty() && !wanted.contains(set)) continue;
    try {
      schemas.push_back(schema_of(fields));
      schemas.back().source = file.at(i + 1);
    } catch (const Error& error) {
      file.mistake(i + 1, "{}", error.what());
    } catch (const Json::exception&) {
      file.mistake(
          i + 1,
          "expected tokens as [\"a\", ...], the pronoun as [\"it\", [8, 9], [\"it\"]], and candidates as a list "
          "of such, each with true or false");
    }
  }
  file.finish();
  const std::vector<std::string> names(known.begin(), known.end());
  if (wanted.empty() && names.size() > 1) {
    fail("{0}: has {1} sets, which may repeat each other's sentences; choose one, as in {0}#{2}, or several: {3}",
         file.name(), names.size(), names[0], listed(names));
  }
  for (const std::string& set : wanted) {
    if (known.contains(set)) continue;
    fail("{}: unknown set '{}'{}; its sets: {}", file.name(), set, did_you_mean(set, names), listed(names));
  }
  pair_adjacent(schemas);
  return schemas;
}

}  // namespace heed
