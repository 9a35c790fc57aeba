#include "inspect/commands/shared.h"

#include <heed/files/text_file.h>
#include <heed/files/utf8.h>
#include <heed/models/generate.h>

namespace heed {
namespace {

// Replaces the escapes \n, \r, \t and \\ by the characters they denote.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t known = text[i] == '\\' && i + 1 < text.size() ? std::string_view("nrt\\").find(text[i + 1]) : 4;
    result += known < 4 ? "\n\r\t\\"[known] : text[i];
    i += known < 4;
  }
  return result;
}

Generation generation_of(const Request& request) {
  if (request.has("prompt") == !request.files.empty()) {
    misused("expected --prompt TEXT or a FILE of texts{}", request.has("prompt") ? ", not both" : "");
  }
  if (request.files.size() > 1) misused("expected one FILE of texts, got '{}' too", request.files[1]);
  if (!request.files.empty() && request.has("speculate")) misused("--speculate is for one text, not for a FILE");
  if (request.has("stop") && request.given<std::string>("stop")->empty()) misused("--stop must not be empty");
  const auto number = [&](const char* name, double otherwise) {
    return request.given<Decimal>(name).value_or(Decimal{otherwise}).value;
  };
  const Generation defaults;
  const Generation asked{.prompt = request.given<std::string>("prompt").value_or(""),
                         .tokens = request.given<int>("tokens").value_or(defaults.tokens),
                         .sampling = {.temperature = number("temperature", defaults.sampling.temperature),
                                      .top_k = request.given<int>("top-k").value_or(defaults.sampling.top_k),
                                      .top_p = number("top-p", defaults.sampling.top_p)},
                         .seed = request.given<std::uint64_t>("seed").value_or(defaults.seed),
                         .stop = unescaped(request.given<std::string>("stop").value_or("")),
                         .speculate = request.has("speculate")};
  if (asked.tokens < 1) misused("--tokens must be at least 1");
  if (!(asked.sampling.temperature >= 0)) misused("--temperature must be at least 0");
  if (request.has("top-k") && asked.sampling.top_k < 1) misused("--top-k must be at least 1");
  if (!(asked.sampling.top_p > 0 && asked.sampling.top_p <= 1)) misused("--top-p must be above 0 and at most 1");
  return asked;
}

// Continues a text; messages name the prompt by its option.
Generated continued(const Model& model, const Generation& asked, const OnText& write) {
  try {
    return generate(model, asked, write);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with("prompt:")) throw Error("--" + message);
    throw;
  }
}

Json json_of(const Generation& asked, const Generated& generated, const std::string& text) {
  Json answer{{"prompt", asked.prompt},           {"text", text.substr(asked.prompt.size())},
              {"tokens", generated.tokens},       {"ended_by", name_of(generated.ended_by)},
              {"forgotten", generated.forgotten}, {"seed", asked.seed}};
  if (asked.speculate) answer["passes"] = generated.passes;
  return answer;
}

// Returns what a terminal says of a text that the model did not continue to the end, or whose beginning it no longer read.
std::string remark(const Model& model, const Generation& asked, const Generated& generated) {
  std::string text;
  if (generated.ended_by == Ending::end_token) {
    text = fmt::format("[The text ended with {} after {} of at most {} tokens.]\n", visible(generated.tokens.back()),
                       generated.tokens.size(), asked.tokens);
  }
  if (generated.forgotten > 0) {
    text += fmt::format("[The model reads at most {} tokens: it wrote the last one without the first {}.]\n",
                        model.transformer().config.max_length, generated.forgotten);
  }
  return text;
}

// Returns what is asked of each line of a file that is not blank; the seed increases by 1 from line to line.
std::vector<Generation> generations_of(const Model& model, const std::string& path, Generation asked) {
  TextFile file(path);
  std::vector<Generation> all;
  const std::uint64_t first = asked.seed;
  for (std::size_t i = 0; i < file.lines().size(); ++i) {
    if (file.lines()[i].find_first_not_of(" \t") == std::string_view::npos) continue;
    asked.prompt = unescaped(file.lines()[i]);
    asked.seed = first + all.size();
    if (asked.seed < first) fail("{}: the seed of this text would exceed 2^64 - 1", file.at(i + 1).text);
    try {
      prompt_tokens(model, asked.prompt);
    } catch (const Error& error) {
      file.mistake(i + 1, "{}", error.what());
    }
    all.push_back(asked);
  }
  file.finish();
  if (all.empty()) fail("{}: expected texts to continue, one per line, got none", path);
  return all;
}

// Continues the lines of a file. Returns the texts with empty lines between them, or a line of JSON for each.
std::string continued_lines(const Model& model, const Generation& asked, const Request& request) {
  const std::vector<Generation> all = generations_of(model, request.files[0], asked);
  std::vector<std::string> texts(all.size());
  const std::vector<Generated> generated = generate(model, all, [&](std::size_t i, std::string_view piece) {
    texts[i] += piece;
    return true;
  });
  std::string lines;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (request.has("json")) {
      lines += json_line(utf8_json(json_of(all[i], generated[i], texts[i])));
    } else {
      lines += (i > 0 ? "\n" : "") + texts[i] + (texts[i].ends_with('\n') ? "" : "\n");
    }
  }
  return lines;
}

}  // namespace

const Command generate_command{
    .name = "generate",
    .words = "RUN [FILE]",
    .summary = "Continues a text with a language model, or each line of a file",
    .example = "inspect generate runs/shakespeare --prompt \"ROMEO:\" --temperature 0.8",
    .shared = "step json precision",
    .declare =
        [](cxxopts::OptionAdder& options) {
          options("prompt", "The text to continue, where no FILE has one on each line", cxxopts::value<std::string>(),
                  "TEXT")  //
              ("tokens", "Generate at most N tokens (default: 500); a pretrained model may end the text before",
               cxxopts::value<int>(), "N")  //
              ("temperature", "Divisor of the logits; 0 always takes the most probable token (default: 1)",
               cxxopts::value<Decimal>(), "X")                                                    //
              ("top-k", "Draw only from the K most probable tokens", cxxopts::value<int>(), "K")  //
              ("top-p", "Draw only from the most probable tokens, whose probabilities sum to P",
               cxxopts::value<Decimal>(),
               "P")  //
              ("seed",
               "Seed for sampling (default: 1); the same seed gives the same text. It increases by 1 from line to line "
               "of FILE",
               cxxopts::value<std::uint64_t>(), "N")  //
              ("speculate",
               "Guess tokens from repetitions of the text and compute up to 16 in one pass: the same text, sooner "
               "where it "
               "repeats itself")  //
              ("stop", "Stop before this text; \\n, \\r and \\t stand for their characters",
               cxxopts::value<std::string>(), "TEXT");
        },
    .answer =
        [](const Request& request) {
          const Generation asked = generation_of(request);
          const Model model = model_of(request.runs[0], step_of(request), request.progress);
          const bool as_json = request.has("json");
          const Autocast autocast(precision_of(request, model));
          if (!request.files.empty()) return continued_lines(model, asked, request);
          std::string text;
          const Generated generated = continued(model, asked, [&](std::string_view piece) {
            if (request.write && !as_json) return request.write(piece);
            text += piece;
            return true;
          });
          if (!as_json && request.write) return remark(model, asked, generated);
          if (!as_json) return text;
          return json_line(utf8_json(json_of(asked, generated, text)));
        }};

}  // namespace heed
