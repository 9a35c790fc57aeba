#include "train/agreement.h"

#include "files/digest.h"
#include "files/internal/ascii.h"

#include <heed/autograd/machine.h>
#include <heed/version.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace heed {
namespace {

// A property that must be equal on all processes, and a hint for when it differs. Each line of the configuration is one
// trait.
struct Trait {
  std::string what, value, hint;
};

std::uint64_t digest_of(const Parameters& parameters) {
  std::uint64_t digest = 0;
  for (const auto& entry : parameters) {
    const Tensor& parameter = entry.second;  // clang 14 captures no structured binding
    dispatch(parameter.dtype(), [&]<class T>() {
      const auto bytes = std::as_bytes(std::span(parameter.data<T>(), static_cast<std::size_t>(parameter.numel())));
      digest = xxh64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, digest);
    });
  }
  return digest;
}

std::vector<Trait> traits_of(const Experiment& e) {
  std::vector<Trait> traits{
      {"version of heed", HEED_VERSION, "Install one version on all hosts"},
      {"kernels", fmt::format("{}, {}", vector_instructions(), blas_description()),
       "Their sums differ in the last bits. Use hosts with one kind of processor, or set OPENBLAS_CORETYPE on all"}};
  const std::string yaml = to_yaml(e.config);
  std::string_view section;
  for (const std::string_view line : split_at(std::string_view(yaml).substr(0, yaml.size() - 1), '\n')) {
    if (!line.starts_with(' ')) section = line.substr(0, line.find(':'));
    traits.push_back({fmt::format("configuration, section '{}'", section), std::string(line),
                      "Start all with the same --config and --set"});
  }
  const DataDigest data = digest_of(e.task);
  const char* const same_files = "Give all hosts the same files";
  traits.push_back({"training data, by its digest", data.train, same_files});
  traits.push_back({"held-out data, by its digest", data.held_out, same_files});
  if (e.begun_from) {
    traits.push_back({"first weights, by their digest", hexadecimal(digest_of(e.model.parameters)), same_files});
  }
  return traits;
}

}  // namespace

void check_same(const Experiment& experiment, const Communicator& processes) {
  if (processes.size() == 1) return;
  const std::vector<Trait> own = traits_of(experiment);
  std::string text;
  for (const Trait& trait : own) text += trait.what + '\0' + trait.value + '\0' + trait.hint + '\0';
  const std::vector<std::string> texts = processes.exchange(text);
  const auto traits_in = [](std::string_view from) { return split_at(from.substr(0, from.size() - 1), '\0'); };
  const std::vector<std::string_view> expected = traits_in(texts[0]);
  for (int rank = 1; rank < processes.size(); ++rank) {
    const std::vector<std::string_view> got = traits_in(texts[static_cast<std::size_t>(rank)]);
    const auto at = [](const std::vector<std::string_view>& words, std::size_t i) {
      return i < words.size() ? words[i] : "nothing";
    };
    for (std::size_t i = 0; i < std::max(expected.size(), got.size()); i += 3) {
      if (at(expected, i) == at(got, i) && at(expected, i + 1) == at(got, i + 1)) continue;
      const std::vector<std::string_view>& longer = i < expected.size() ? expected : got;
      fail("{} differs from rank 0 in its {}: expected '{}', got '{}'. {}", processes.name(rank), longer[i],
           at(expected, i + 1), at(got, i + 1), longer[i + 2]);
    }
  }
}

void share_checkpoint(const GradientReducer& reducer, const Parameters& parameters, WeightAverage& average,
                      Progress& progress) {
  if (reducer.size() == 1) return;
  const bool has_read = reducer.rank() == 0;
  const auto share = [&](const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors) {
      Tensor written = tensor;
      dispatch(written.dtype(), [&]<class T>() {
        const std::span numbers(written.mutable_data<T>(), static_cast<std::size_t>(written.numel()));
        reducer.broadcast(std::as_writable_bytes(numbers));
      });
    }
  };
  share({parameters.begin(), parameters.end()});
  NamedTensors means = average.state();
  const bool is_averaged = reducer.any(!means.empty());
  if (is_averaged && !has_read) {
    for (const auto& [name, tensor] : parameters) means.emplace_back(name, zeros(tensor.shape(), tensor.dtype()));
    means.emplace_back("steps", zeros({}, DType::float64));
  }
  share(means);
  average.load_state(means, "rank 0");
  std::string text = has_read ? to_text(progress) : "";
  std::uint64_t length = text.size();
  reducer.broadcast(std::as_writable_bytes(std::span(&length, 1)));
  text.resize(length);
  reducer.broadcast(std::as_writable_bytes(std::span(text)));
  progress = progress_from(text);
}

}  // namespace heed
