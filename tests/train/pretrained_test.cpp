#include "tests/catch.h"
#include "tests/formats/gguf_bytes.h"
#include "tests/tokenizers/small_tokenizer.h"
#include "tests/train/program.h"
#include "tokenizers/internal/json.h"

#include <heed/formats/hugging_face.h>
#include <heed/formats/safetensors.h>

#include <algorithm>
#include <map>

using namespace heed;
namespace fs = std::filesystem;

namespace {

struct PretrainedScratch : ProgramScratch {
  PretrainedScratch() {
    for (const char* name : {"bert", "bert_bare", "gpt2", "llama"}) {
      fs::copy("tests/golden/hugging_face/" + std::string(name), *this / name);
      const bool is_bert = std::string_view(name).starts_with("bert");
      write_file(*this / name / "tokenizer.json", tokenizer_json(is_bert));
    }
    std::string lines, text;
    for (const char* cue : {"big", "small", "old", "red"}) {
      for (const char* what : {"cat", "dog", "tree"}) {
        const int right = std::string_view(cue) == "big" ? 0 : 1;
        lines += Json({{"tokens", {"the", what, "saw", "a", "birds", "because", "it", "was", cue}},
                       {"query", 6},
                       {"candidates", {{1, 2}, {4, 5}}},
                       {"antecedent", right}})
                     .dump() +
                 "\n";
        text += std::string("the ") + what + " hid from a birds because it was " + cue + " .\n";
      }
    }
    write_file(*this / "mine.jsonl", lines);
    write_file(*this / "text.txt", text + text + text);
    write_file(*this / "choose.yaml",
               "data: {task: candidates, train: mine.jsonl}\n"
               "model: {from: bert, dropout: 0.1}\n"
               "optim: {lr: 0.01, schedule: constant, warmup: 0}\n"
               "train: {steps: 3, batch_size: 4, evaluate_every: 1, checkpoint_every: 1}\n"
               "dump: {every: 1, weights: true}\n");
    write_file(*this / "read.yaml",
               "data: {task: text, train: text.txt, context: 8}\n"
               "model: {from: gpt2}\n"
               "optim: {lr: 0.01, schedule: constant, warmup: 0}\n"
               "train: {steps: 3, batch_size: 4, evaluate_every: 1, checkpoint_every: 1}\n");
  }

  // Trains a run of 3 steps in `run`, again with 2 threads, and again with a stop after step 1. All models must be equal bit
  // for bit, although the pretrained model is gone when the run is resumed.
  void train(const std::string& config, const std::string& from, const std::string& run) const {
    const std::string command = "train --quiet --config " + config + " --set model.from=" + from + " --out ";
    CHECK(error(command + run + " --threads 1") == "0: ");
    CHECK(error(command + run + "2 --threads 2") == "0: ");
    CHECK(error(command + run + "3 --set train.steps=1") == "0: ");
    CHECK(error("mv " + from + " gone && train --quiet --resume " + run + "3 --set train.steps=3; mv gone " + from) ==
          "0: ");
    const std::string model = read_file(*this / run / "model.safetensors");
    CHECK(model == read_file(*this / (run + "2") / "model.safetensors"));
    CHECK(model == read_file(*this / (run + "3") / "model.safetensors"));
  }

  // Exports the run, reads the export, and returns the largest difference between their parameters.
  double exported_difference(const std::string& run) const {
    CHECK(error("inspect export " + run + " --hugging-face " + run + "-out") == "0: ");
    const Model one = load_model(*this / run / "model.safetensors"), other = load_model(*this / (run + "-out"));
    CHECK(one.config().head == other.config().head);
    REQUIRE(one.parameters.size() == other.parameters.size());
    CHECK(one.vocabulary.words() == other.vocabulary.words());
    double largest = 0;
    for (const auto& [name, value] : one.parameters) {
      largest = std::max(largest, max(abs(value - other.parameters[name])).item());
    }
    return largest;
  }

  // Returns the largest change of a parameter since the pretrained model.
  double change(const std::string& run, const std::string& from, const std::string& parameter) const {
    const Model after = load_model(*this / run / "model.safetensors"), before = load_model(*this / from);
    return max(abs(after.parameters[parameter] - before.parameters[parameter])).item();
  }
};

}  // namespace

TEST_CASE("A pretrained encoder learns candidates with its tokenizer, and resuming gives equal bits") {
  const PretrainedScratch place;
  place.train("choose.yaml", "bert", "r");
  CHECK(place.change("r", "bert", "words.weight") > 0.01);
  CHECK(place.change("r", "bert", "encoder.0.attention.W_Q.weight") > 0.01);
  const std::string config = read_file(place / "r/config.yaml");
  for (const char* line : {"\n  d_model: 20\n", "\n  heads: 4\n", "\n  epsilon: 1e-12\n", "\n  tokens: subwords\n",
                           "\n  norm_placement: after\n", "\n  dropout: 0.1\n", "\n  answer: candidate\n"}) {
    CAPTURE(line);
    CHECK(config.find(line) != std::string::npos);
  }
  const std::string held_out = read_file(place / "r/held_out.jsonl");
  CHECK(held_out.find(R"("[CLS]","the")") != std::string::npos);
  CHECK(held_out.find(R"("bi","##rd","##s")") != std::string::npos);
  const Model model = load_model(place / "r/model.safetensors");
  CHECK(model.tokenizer.pretrained());
  CHECK(model.queries == std::vector<std::string>{"it"});
  CHECK(model.config().transformer.last_residual);
  CHECK(place.exported_difference("r") == 0);
}

TEST_CASE(
    "A run with model.adapt trains adapters alone, resumes with equal bits, and is read and exported by inspect") {
  const PretrainedScratch place;
  write_file(place / "adapt.yaml",
             "data: {task: text, train: text.txt, context: 8}\n"
             "model: {from: gpt2, adapt: 'W_Q, W_V', adapt_rank: 2, adapt_alpha: 4}\n"
             "optim: {lr: 0.01, schedule: constant, warmup: 0}\n"
             "train: {steps: 3, batch_size: 4, evaluate_every: 1, checkpoint_every: 1}\n");
  place.train("adapt.yaml", "gpt2", "r");
  for (const char* name : {"words.weight", "encoder.0.attention.W_Q.weight", "encoder.1.attention.W_K.weight"}) {
    CHECK(place.change("r", "gpt2", name) == 0);
  }
  const Model model = load_model(place / "r");
  CHECK(max(abs(model.parameters["encoder.1.attention.W_V.lora_B"])).item() > 1e-3);
  CHECK(model.config().adapter.base == "gpt2");
  CHECK_FALSE(model.parameters.contains("encoder.0.attention.W_K.lora_A"));

  // inspect shows the model with its adapters, as it shows their export over the base model, and the merged export.
  CHECK(place.error("inspect export r --adapter a --hugging-face whole") == "0: ");
  CHECK(place.error("inspect export r --adapter a").starts_with("1: inspect: a/adapter_config.json: exists already"));
  write_file(place / "whole/tokenizer.json", read_file(place / "gpt2/tokenizer.json"));
  const std::string command = " --json --sentence 'the cat saw a birds'";
  const auto weights = [&](const std::string& run) {
    const std::string shown = run_program(place, "inspect " + run + command).out;
    return shown.substr(std::min(shown.size(), shown.find("\"sentences\"")));
  };
  CHECK(weights("a").size() > 100);
  CHECK(weights("a") == weights("whole"));
  CHECK(weights("a") != weights("gpt2"));
  for (const char* read :
       {"r", "weights r --layer 1", "page r --out page.html", "verify r", "generate r --prompt 'the cat' --tokens 3"}) {
    CAPTURE(read);
    CHECK(place.error("inspect " + std::string(read)) == "0: ");
  }
  CHECK(place.error("inspect export gpt2 --adapter b") == "1: inspect: export: the model has no adapters\n");

  CHECK(place.error("train --quiet --config choose.yaml --set model.adapt=W_V --out c") == "0: ");
  CHECK(place.change("c", "bert", "encoder.0.attention.W_V.weight") == 0);
  CHECK(max(abs(load_model(place / "c").parameters["candidates.pointer.weight"])).item() != 0.1);
  CHECK(place.error("train --quiet --config adapt.yaml --set model.from=r --out further") == "0: ");  // merged first
  CHECK(place.error("train --quiet --config adapt.yaml --set model.adapt=W_X --out d")
            .starts_with("1: train: model.adapt: adapt: no Linear has the name 'W_X'"));
  CHECK(place.error("train --quiet --config adapt.yaml --set model.adapt=, --out d").find("got ','") !=
        std::string::npos);
  CHECK(place.error("train --quiet --check-gradients --config adapt.yaml") ==
        "0: ");  // frozen parameters have no gradient
}

TEST_CASE("The commands of inspect read a run that was initialised from a pretrained model") {
  const PretrainedScratch place;
  REQUIRE(place.error("train --quiet --config choose.yaml --out r") == "0: ");
  const std::string sentence = " --sentence 'the [cat] saw [a birds] because it was big'";
  const std::vector<std::string> commands{"r",
                                          "r" + sentence,
                                          "causes r --limit 3",
                                          "history r --limit 3",
                                          "why r",
                                          "why r" + sentence,
                                          "heads r",
                                          "steps r" + sentence + " --layer 1 --head 1",
                                          "report r mine.jsonl",
                                          "page r --out page.html --limit 3",
                                          "verify r",
                                          "compare r --step 0 --step 3",
                                          "weights r --layer 1",
                                          "heads r-out mine.jsonl",
                                          "r-out" + sentence};
  for (const std::string& command : commands) {
    if (command.starts_with("heads r-out")) REQUIRE(place.error("inspect export r --hugging-face r-out") == "0: ");
    CAPTURE(command);
    const Ended ended = run_program(place, "inspect " + command);
    CHECK(ended.err == "");
    CHECK(ended.code == 0);
  }
  const Ended read = run_program(place, "inspect r" + sentence + " --json");
  const Json json = parse_json(read.out);
  CHECK(json.at("sentences")[0].at("tokens") ==
        Json{"[CLS]", "the", "cat", "saw", "a", "bi", "##rd", "##s", "because", "it", "was", "big", "[SEP]"});
  CHECK(run_program(place, "inspect r-out" + sentence + " --query it --json").out.find("\"predicted\":null") ==
        std::string::npos);
}

TEST_CASE("Pretrained decoders learn text, and encoders masked_text in windows with special tokens") {
  const PretrainedScratch place;
  place.train("read.yaml", "gpt2", "r");
  CHECK(place.change("r", "gpt2", "encoder.1.mlp.in.weight") > 0.01);
  CHECK(place.exported_difference("r") == 0);
  CHECK(place.error("inspect generate r --prompt 'the cat' --tokens 3 --temperature 0") == "0: ");
  CHECK(place.error("train --quiet --config read.yaml --set model.from=llama --out l") == "0: ");
  CHECK(place.exported_difference("l") == 0);

  place.train("read.yaml --set data.task=masked_text", "bert", "m");
  CHECK(place.exported_difference("m") == 0);
  const std::string held_out = read_file(place / "m/held_out.jsonl");
  CHECK(std::ranges::count(held_out, '\n') > 1);
  CHECK(held_out.find(R"({"tokens":["[CLS]",)") == 0);
  const Ended asked = run_program(place, "inspect m --sentence 'the cat saw a <mask> .' --json");
  CHECK(asked.code == 0);
  CHECK(asked.out.find(R"("query":5)") != std::string::npos);

  // A run initialises another, and a model without a head gets one.
  CHECK(place.error("train --quiet --config choose.yaml --set model.from=m --out c") == "0: ");
  CHECK(place.change("c", "m/model.safetensors", "words.weight") < 0.04);
  CHECK(
      place.error("train --quiet --config read.yaml --set data.task=masked_text --set model.from=bert_bare --out b") ==
      "0: ");
  CHECK(place.exported_difference("b") == 0);
}

TEST_CASE("inspect shows the tokens of a byte-level model as text and keeps their names in JSON") {
  const PretrainedScratch place;
  std::vector<std::string> tokens{"\u0120", "\u010a", ".", "\u0120t"};
  for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
  Json vocabulary = Json::object();
  for (std::size_t id = 0; id < tokens.size(); ++id) vocabulary[tokens[id]] = id;
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  write_file(place / "gpt2/tokenizer.json", Json({{"version", "1.0"},
                                                  {"added_tokens", Json::array()},
                                                  {"normalizer", nullptr},
                                                  {"pre_tokenizer", bytes},
                                                  {"post_processor", nullptr},
                                                  {"decoder", bytes},
                                                  {"model",
                                                   {{"type", "BPE"},
                                                    {"dropout", nullptr},
                                                    {"unk_token", nullptr},
                                                    {"fuse_unk", false},
                                                    {"vocab", vocabulary},
                                                    {"merges", {"\u0120 t"}}}}})
                                                .dump());
  const auto says = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const auto names_bytes = [&](const std::string& text) { return says(text, "\u0120") || says(text, "\u010a"); };

  REQUIRE(place.error("train --quiet --config read.yaml --set data.context=16 --out r") == "0: ");
  for (const char* command : {"r", "why r --layer 1 --head 1", "compare r --step 0 --step 3", "causes r --limit 3"}) {
    const Ended ended = run_program(place, std::string("inspect ") + command);
    CAPTURE(command, ended.out);
    CHECK(ended.code == 0);
    CHECK_FALSE(names_bytes(ended.out));
  }
  CHECK(names_bytes(run_program(place, "inspect r --json").out));
  REQUIRE(place.error("inspect page r --out page.html") == "0: ");
  const std::string page = read_file(place / "page.html"), open = "id=\"data\">";
  const std::size_t begin = page.find(open) + open.size();
  const Json data = parse_json(page.substr(begin, page.find("</script>", begin) - begin), 100);
  const Json& sentence = data.at("runs")[0].at("sentences")[0];
  CHECK_FALSE(names_bytes(sentence.at("tokens").dump()));
  CHECK(says(sentence.at("tokens").dump(), R"(," ",)"));
  CHECK(names_bytes(sentence.at("pieces").dump()));
}

TEST_CASE("train initialises a run from a GGUF file and uses the tokenizer inside") {
  const PretrainedScratch place;
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>", "\u2581", "\u2581the", "th", "he", "."};
  for (char letter = 'a'; letter <= 'z'; ++letter) tokens.emplace_back(1, letter);
  std::vector<std::int32_t> kinds(tokens.size(), 1);
  kinds[0] = 2, kinds[1] = kinds[2] = 3;
  const GgufBytes tokenizer = GgufBytes()
                                  .text("tokenizer.ggml.model", "llama")
                                  .texts("tokenizer.ggml.tokens", tokens)
                                  .numbers("tokenizer.ggml.scores", 6, std::vector<float>(tokens.size()))
                                  .numbers("tokenizer.ggml.token_type", 5, kinds)
                                  .u32("tokenizer.ggml.bos_token_id", 1)
                                  .u32("tokenizer.ggml.unknown_token_id", 0);
  const std::string file = read_file("tests/golden/gguf/llama.gguf");
  write_file(place / "bare.gguf", file);
  write_file(place / "llama.gguf", tokenizer.inserted_into(file));
  place.train("read.yaml", "llama.gguf", "r");
  CHECK(place.change("r", "llama.gguf", "encoder.1.mlp.in.weight") > 0.01);
  CHECK(place.exported_difference("r") == 0);
  CHECK(read_file(place / "r/held_out.jsonl").starts_with(R"({"tokens":["<s>",)"));
  CHECK(place.error("train --config read.yaml --set model.from=bare.gguf --out g") ==
        "1: train: model.from: bare.gguf: expected a tokenizer, with which the data is read; found no "
        "tokenizer.ggml.model\n");
}

TEST_CASE("inspect export writes trained weights in float32 even if the pretrained ones were float16") {
  const PretrainedScratch place;
  REQUIRE(place.error("train --quiet --config read.yaml --out r") == "0: ");
  REQUIRE(parse_json(read_file(place / "gpt2/config.json")).at("dtype") == "float16");
  CHECK(place.error("inspect export r --hugging-face out") == "0: ");
  CHECK(parse_json(read_file(place / "out/config.json")).at("dtype") == "float32");
  CHECK(SafeTensorsFile(place / "out/model.safetensors").tensors()[0].type == "F32");
}

TEST_CASE("inspect export of a fine-tuned run gives back the files of the pretrained directory") {
  const PretrainedScratch place;
  const std::map<std::string, std::string> files{{"tokenizer_config.json", R"({"pad_token":  "[PAD]"})"},
                                                 {"generation_config.json", R"({"temperature":  0.6})"}};
  for (const auto& [name, text] : files) write_file(place / "gpt2" / name, text);
  REQUIRE(place.error("train --quiet --config read.yaml --out r && rm gpt2/*config.json") == "0: ");
  const Ended ended = run_program(place, "inspect export r --hugging-face out");
  CHECK(ended.out ==
        "out: config.json, generation_config.json, model.safetensors, tokenizer.json, tokenizer_config.json\n");
  for (const auto& [name, text] : files) CHECK(read_file(place / "out" / name) == text);
  CHECK(place.error("inspect export r --hugging-face out") ==
        "1: inspect: out/config.json: exists already; choose another directory, or --force to replace it\n");
  fs::remove(place / "out/config.json"), fs::remove(place / "out/model.safetensors");
  fs::remove(place / "out/tokenizer.json"), fs::remove(place / "out/tokenizer_config.json");
  CHECK(
      place.error("inspect export r --hugging-face out").starts_with("1: inspect: out/generation_config.json: exists"));
}

TEST_CASE("train names the questions and answers of a pretrained model as they are written") {
  const PretrainedScratch place;
  Json vocabulary = Json::object();
  for (const char* token : {"a", "b", "c", "d", "e", "f", "i", "t", "Ġ", "Ġc", "Ġi", "Ġit"}) {
    vocabulary[token] = vocabulary.size();
  }
  write_file(place / "gpt2/tokenizer.json",
             Json({{"version", "1.0"},
                   {"added_tokens", Json::array()},
                   {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}},
                   {"decoder", {{"type", "ByteLevel"}}},
                   {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"Ġ c", "Ġ i", "Ġi t"}}}}})
                 .dump());
  std::string lines;
  for (const char* last : {"a", "b", "c", "d", "e", "f"}) {
    lines += Json({{"tokens", {"ab", "cd", "it", last}}, {"query", 2}, {"antecedent", 0}, {"other", 1}}).dump() + "\n";
    lines += Json({{"tokens", {"ba", "cd", "it", last}}, {"query", 2}, {"antecedent", 1}, {"other", 0}}).dump() + "\n";
  }
  write_file(place / "mine.jsonl", lines);
  const Ended ended = run_program(place, "train --dry-run --config choose.yaml --set model.from=gpt2");
  CAPTURE(ended.out, ended.err);
  CHECK(ended.out.find("\n# asked  'it' 12; answers: 'ab' 6, 'cd' 6; ") != std::string::npos);
}

TEST_CASE("A query word of several subwords is found in typed sentences and after an export, and cue words are kept") {
  const PretrainedScratch place;
  std::string lines;
  for (const char* cue : {"big", "small", "old", "red"}) {
    for (const char* what : {"cat", "dog", "tree"}) {
      const bool first = std::string_view(cue) == "big";
      lines += Json({{"tokens", {"the", what, "saw", "a", "w30", "because", "birds", "was", cue}},
                     {"query", 6},
                     {"antecedent", first ? 1 : 4},
                     {"other", first ? 4 : 1},
                     {"decider", cue}})
                   .dump() +
               "\n";
    }
  }
  write_file(place / "mine.jsonl", lines);
  CHECK(place.error("train --quiet --config choose.yaml --out r") == "0: ");
  CHECK(load_model(place / "r/model.safetensors").queries == std::vector<std::string>{"birds"});
  CHECK(place.error("inspect r --sentence 'the [cat] saw a [tree] because birds was old'") == "0: ");
  CHECK(place.error("inspect export r --hugging-face out") == "0: ");
  CHECK(load_model(place / "out").queries == std::vector<std::string>{"birds"});
  const std::string held_out = read_file(place / "r/held_out.jsonl");
  CHECK(std::ranges::count(held_out, '\n') > 0);
  for (std::size_t at = 0, end; at < held_out.size(); at = end + 1) {
    end = held_out.find('\n', at);
    const Json line = Json::parse(held_out.substr(at, end - at));
    CHECK(line.at("decider") == line.at("tokens").at(line.at("tokens").size() - 2));
  }
  const Ended causes = run_program(place, "inspect causes r");
  CHECK(causes.code == 0);
  CHECK(causes.out.find("No sentence has a cue word") == std::string::npos);
}

TEST_CASE("train refuses keys and tasks that contradict a pretrained model and names each place") {
  const PretrainedScratch place;
  write_file(place / "wrong.yaml",
             "data: {task: candidates, train: mine.jsonl, tokens: words}\n"
             "model: {from: bert, d_model: 64, d_k: 5, heads: 4, layers: 3, zero_outputs: true}\n");
  CHECK(place.error("train --config wrong.yaml --set model.norm=rms --out r") ==
        "1: train: wrong.yaml:1:53: data.tokens is words here, but subwords in bert (model.from); leave the key out\n"
        "wrong.yaml:2:30: model.d_model is 64 here, but 20 in bert (model.from); leave the key out\n"
        "wrong.yaml:2:60: model.layers is 3 here, but 2 in bert (model.from); leave the key out\n"
        "wrong.yaml:2:77: model.zero_outputs is true here, but false in bert (model.from); leave the key out\n"
        "--set model.norm=rms: model.norm is rms here, but layer in bert (model.from); leave the key out\n");
  CHECK(place.error("train --config choose.yaml --set data.task=coreference --set data.train= --out r") ==
        "1: train: --set data.task=coreference: task coreference has sentences of words: bert (model.from) reads "
        "candidates, text and masked_text\n");
  const auto refused = [&](const std::string& settings) {
    return place.error("train --config read.yaml --out r" + settings);
  };
  CHECK(refused(" --set model.from=bert") ==
        "1: train: model.from: bert: data.task text needs a model that sees earlier tokens alone; try masked_text\n");
  CHECK(refused(" --set data.task=masked_text") ==
        "1: train: model.from: gpt2: data.task masked_text needs a model that sees the whole text; try text\n");
  CHECK(refused(" --set data.context=17") ==
        "1: train: data.context: 17 tokens are more than the 16 that gpt2 (model.from) reads at once\n");
  CHECK(refused(" --set data.task=masked_text --set model.from=bert --set data.context=2") ==
        "1: train: data.context: every window has 2 special tokens; expected at least 3, got 2\n");
  Json begins = parse_json(tokenizer_json(true));
  begins["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single",
       {{{"SpecialToken", {{"id", "[CLS]"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"pair", Json::array()},
      {"special_tokens", {{"[CLS]", {{"id", "[CLS]"}, {"ids", {2}}, {"tokens", {"[CLS]"}}}}}}};
  write_file(place / "llama/tokenizer.json", begins.dump());
  CHECK(refused(" --set model.from=llama --set data.context=1") ==
        "1: train: data.context: every window has 1 special token; expected at least 2, got 1\n");
  Json words(std::vector<std::string>(16, "saw"));
  words[0] = "cat", words[14] = "dog", words[15] = "it";
  write_file(
      place / "long.jsonl",
      Json({{"tokens", words}, {"query", 15}, {"candidates", {{0, 1}, {14, 15}}}, {"antecedent", 0}}).dump() + "\n");
  CHECK(place.error("train --config choose.yaml --set data.train=mine.jsonl,long.jsonl --out r") ==
        "1: train: long.jsonl:1: 18 tokens are more than the 16 that bert (model.from) reads at once\n");
  std::string no_mask = read_file(place / "bert/tokenizer.json");
  for (std::size_t at; (at = no_mask.find("[MASK]")) != no_mask.npos;) no_mask.replace(at, 6, "[HIDE]");
  write_file(place / "bert/tokenizer.json", no_mask);
  CHECK(refused(" --set data.task=masked_text --set model.from=bert") ==
        "1: train: task masked_text: expected a token [MASK] or <mask> in the pretrained tokenizer, found neither\n");
  fs::remove(place / "gpt2/tokenizer.json");
  CHECK(refused("") ==
        "1: train: model.from: gpt2: expected a tokenizer, with which the data is read; found no tokenizer.json\n");
  CHECK_FALSE(fs::exists(place / "r"));
}

TEST_CASE("A decoder that chooses among candidates attends to the whole text and cannot be exported") {
  const PretrainedScratch place;
  REQUIRE(place.error("train --quiet --config choose.yaml --set model.from=gpt2 --out r") == "0: ");
  CHECK_FALSE(load_model(place / "r/model.safetensors").transformer().config.causal);
  CHECK(place.error("inspect export r --hugging-face out") ==
        "1: inspect: export: this gpt2 sees the whole text, as data.task candidates needs; transformers has no such "
        "model\n");
  CHECK_FALSE(fs::exists(place / "out"));
}
