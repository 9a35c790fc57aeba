#include "formats/hugging_face/pretrained.h"
#include "inspect/commands/shared.h"
#include "inspect/converted_picture.h"
#include "inspect/output_file.h"
#include "views/picture.h"
#include "views/written_tokens.h"

#include <heed/formats/gguf.h>
#include <heed/formats/hugging_face.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace heed {
namespace {

struct Format {
  const char* option;
  std::string_view beginning;
  std::string (*content)(const Dump& dump, const View& view);
};

std::string svg_of(const Dump& dump, const View& view) { return attention_svg(dump.sentences[0], dump.step, view); }

constexpr std::array<Format, 5> formats{
    {{"svg", svg_beginning, svg_of},
     {"pdf", pdf_beginning,
      [](const Dump& dump, const View& view) { return converted_picture(svg_of(dump, view), "pdf"); }},
     {"png", png_beginning,
      [](const Dump& dump, const View& view) { return converted_picture(svg_of(dump, view), "png"); }},
     {"csv", csv_beginning, [](const Dump& dump, const View& view) { return attention_csv(dump, view); }},
     {"npy", npy_beginning,
      [](const Dump& dump, const View& view) { return attention_npy(dump.sentences[0], view); }}}};

// Exports the model of a run. Refuses to replace existing files unless --force is given; then removes those of another model
// that would belong to this one.
std::string export_model(const Request& request, const std::filesystem::path& directory) {
  std::vector<std::string> all{"config.json", "model.safetensors", "tokenizer.json"};
  all.insert(all.end(), kept_file_names.begin(), kept_file_names.end());
  for (const std::string& name : all) {
    check_output(directory / name, "", request.runs, true);
    if (std::filesystem::exists(directory / name) && !request.has("force")) {
      fail("{}: exists already; choose another directory, or --force to replace it", (directory / name).string());
    }
  }
  const Model model = model_of(request.runs[0], step_of(request), request.progress);
  const std::vector<std::string> files = export_hugging_face(model, directory);
  for (const std::string& name : all) {
    if (std::ranges::find(files, name) == files.end()) std::filesystem::remove(directory / name);
  }
  const bool is_own = model.pretrained_config.empty();
  return fmt::format("{}: {}{}\n", directory.string(), fmt::join(files, ", "),
                     is_own ? "\nThe tokenizer stays with the run: transformers gets token numbers." : "");
}

// Exports the adapters of a run as PEFT has them.
std::string export_adapters(const Request& request, const std::filesystem::path& directory) {
  for (const char* name : {"adapter_config.json", "adapter_model.safetensors"}) {
    check_output(directory / name, "", request.runs, true);
    if (std::filesystem::exists(directory / name) && !request.has("force")) {
      fail("{}: exists already; choose another directory, or --force to replace it", (directory / name).string());
    }
  }
  const Model model = model_of(request.runs[0], step_of(request), request.progress, false);
  return fmt::format("{}: {}\n", directory.string(), fmt::join(export_adapter(model, directory), ", "));
}

// Exports the model of a run as a GGUF file.
std::string export_as_gguf(const Request& request, const std::filesystem::path& file) {
  const std::string name = request.given<std::string>("type").value_or("exact");
  const auto type = value_named<GgufType>(name);
  if (!type) misused("--type must be one of {}, got '{}'", fmt::join(names_of<GgufType>(), ", "), name);
  check_output(file, "GGUF", request.runs, request.has("force"));
  export_gguf(model_of(request.runs[0], step_of(request), request.progress), file, *type);
  return fmt::format("{}: {} bytes\n", file.string(), std::filesystem::file_size(file));
}

}  // namespace

const Command export_command{
    .name = "export",
    .summary = "Writes attention as a picture, CSV or NumPy, or a model",
    .example = "inspect export runs/toy --svg it.svg --layer 2 --head 1",
    .shared = "sentence query words probe step layer head force",
    .declare =
        [](cxxopts::OptionAdder& options) {
          const auto file = [] { return cxxopts::value<std::string>(); };
          options("svg", "Draw one sentence: a heat map of one head, or a grid of all", file(), "FILE")  //
              ("pdf", "The same as PDF, by rsvg-convert (Debian: librsvg2-bin)", file(), "FILE")         //
              ("png", "The same as PNG, by rsvg-convert", file(), "FILE")                                //
              ("csv", "Write all weights as a table, counted from 1", file(), "FILE")                    //
              ("npy", "Write one sentence for NumPy: (layers, heads, T, T)", file(), "FILE")             //
              ("hugging-face", "Write the model as a directory that transformers loads", file(), "DIR")  //
              ("adapter", "Write the adapters (LoRA) as a directory that PEFT loads", file(), "DIR")     //
              ("gguf", "Write the model as a file that llama.cpp loads", file(), "FILE")                 //
              ("type", "Numbers of the GGUF file: exact, f32, f16, bf16 or q8_0 (default: exact)", file(), "TYPE");
        },
    .answer =
        [](const Request& request) {
          std::string text;
          if (const auto directory = request.given<std::string>("hugging-face"))
            text += export_model(request, *directory);
          if (const auto directory = request.given<std::string>("adapter"))
            text += export_adapters(request, *directory);
          if (const auto file = request.given<std::string>("gguf")) {
            text += export_as_gguf(request, *file);
          } else if (request.has("type")) {
            misused("--type is for --gguf");
          }
          for (const Format& format : formats) {
            if (const auto file = request.given<std::string>(format.option)) {
              check_output(*file, format.beginning, request.runs, request.has("force"));
            }
          }
          if (std::ranges::none_of(formats, [&](const Format& format) { return request.has(format.option); })) {
            if (!text.empty()) return text;
            misused(
                "expected --svg FILE, --pdf FILE, --png FILE, --csv FILE, --npy FILE, --hugging-face DIR, --adapter "
                "DIR or --gguf FILE");
          }
          Reading read = reading_of(request);
          Dump& dump = read.dump;
          choose_probe(request, dump);
          const Dump named = dump;
          if (read.model) write_out(dump, read.model->tokenizer);
          if (request.has("words")) join_words(dump, named, read.model);
          if (dump.sentences.empty()) fail("step {}: the snapshot has no sentences", dump.step);
          for (const Format& format : formats) {
            if (const auto file = request.given<std::string>(format.option)) {
              const std::string bytes = format.content(dump, request.view);
              text += write_output(*file, bytes, fmt::format("{}: {} bytes\n", *file, bytes.size()));
            }
          }
          return text;
        }};

}  // namespace heed
