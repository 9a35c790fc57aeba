#include "tokenizers/pipeline/steps.h"

namespace heed::tokenizers {
namespace {

// ["[SEP]", 102]
std::int64_t id_of_pair(const Part& part, const char* key) {
  const LargeJson& pair = part.array(key);
  if (pair.size() != 2 || !pair[0].is_string() || !pair[1].is_number_unsigned())
    part.wrong("'{}': expected a token and its id", key);
  return pair[1].get<std::int64_t>();
}

Template processing_of_template(const Part& part) {
  part.expect_keys({"single", "pair", "special_tokens"});
  Template result;
  bool has_text = false;
  for (const Part& piece : part.parts("single")) {
    piece.expect_keys({"SpecialToken", "Sequence"});
    if (piece.find("Sequence")) {
      const std::string name = piece.part("Sequence").text("id");
      if (name != "A" || has_text)
        piece.wrong("expected one sequence, A; got {}", has_text ? "a second one" : excerpt(name));
      has_text = true;
      continue;
    }
    const std::string name = piece.part("SpecialToken").text("id");
    const LargeJson& tokens = part.object("special_tokens");
    if (!tokens.contains(name)) piece.wrong("token '{}' is not among special_tokens", excerpt(name));
    const Part token(tokens[name], fmt::format("{}.special_tokens['{}']", part.place(), excerpt(name)));
    for (const LargeJson& id : token.array("ids")) {
      if (!id.is_number_unsigned()) token.wrong("expected an id, got {}", shown(id));
      (has_text ? result.behind : result.before).push_back(id.get<std::int64_t>());
    }
  }
  if (!has_text) part.wrong("'single' has no sequence A");
  return result;
}

}  // namespace

Template make_template(const Part& part) {
  const std::string type = part.type();
  if (type == "Sequence") {
    part.expect_keys({"processors"});
    Template result;
    for (const Part& one : part.parts("processors")) {
      const Template found = make_template(one);
      if (found.before.empty() && found.behind.empty()) continue;
      if (!result.before.empty() || !result.behind.empty())
        one.wrong("expected one processor that adds tokens, got two");
      result = found;
    }
    return result;
  }
  if (type == "TemplateProcessing") return processing_of_template(part);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    part.expect_keys({"sep", "cls", "trim_offsets", "add_prefix_space"});
    return {{id_of_pair(part, "cls")}, {id_of_pair(part, "sep")}};
  }
  if (type == "ByteLevel") return {};  // it changes offsets alone
  part.wrong("unknown type '{}'", excerpt(type));
}

}  // namespace heed::tokenizers
