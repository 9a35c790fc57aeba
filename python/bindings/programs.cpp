#include "bindings/config.h"
#include "inspect/command.h"
#include "train/report.h"
#include "train/training.h"

#include <heed/autograd/machine.h>
#include <heed/run/log.h>
#include <heed/version.h>

#include <csignal>
#include <nanobind/stl/filesystem.h>

// What the programs train and inspect do, in this process: the same functions, so the same numbers.
namespace heed::python {

Json json_of(nb::handle value) {
  return parse_json(nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(value)));
}

nb::object python_of(const std::string& json) { return nb::module_::import_("json").attr("loads")(json); }

TransformerConfig transformer_config(const char* name, const nb::kwargs& fields) {
  const Json transformer = *name ? Json{{name, json_of(fields)}} : json_of(fields);
  return model_config({{"kind", "bare_transformer"}, {"transformer", transformer}}, 0).transformer;
}

BlockConfig block_config(const char* name, const nb::kwargs& fields) {
  const Json block = *name ? Json{{name, json_of(fields)}} : json_of(fields);
  return model_config({{"kind", "bare_transformer"}, {"transformer", {{"block", block}}}}, 0).transformer.block;
}

namespace {

// Returns the output of inspect for the words of a command line.
std::string inspected(const std::vector<std::string>& words, int width, const nb::object& progress) {
  std::vector<const char*> arguments{"heed-inspect"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  if (words.size() > 0 && words[0] == "serve")
    fail("inspect serve runs until it is stopped; start it in a terminal: heed-inspect serve MODEL");
  if (width < min_columns || width > max_columns) {
    fail("inspect: expected a width from {} to {}, got {}", min_columns, max_columns, width);
  }
  Terminal terminal;
  terminal.width = width;
  const OnProgress on_progress = [&](const std::string& what, double share, double seconds) {
    check_signals();
    if (progress.is_none()) return;
    const nb::gil_scoped_acquire lock;
    progress(what, share, seconds);
  };
  const nb::gil_scoped_release release;
  return inspect(static_cast<int>(arguments.size()), arguments.data(), terminal, on_progress);
}

// A run to train, and where it tells about itself.
struct Training {
  std::string config, text, out, resume;
  std::vector<std::string> settings;
  nb::object write, on_step;
  std::optional<nb::python_error> raised = {};
  volatile std::sig_atomic_t stop = 0;

  // Ends the run after this step when a call of Python raised.
  template <class F>
  void call(F f) {
    const nb::gil_scoped_acquire lock;
    if (raised) return;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      f();
    } catch (nb::python_error& error) {
      raised.emplace(std::move(error));
      stop = SIGINT;
    }
  }
  void tell(const std::string& line) {
    call([&] {
      if (!write.is_none()) write(line);
    });
  }
};

Config config_of(const std::string& path, const std::string& text, const std::vector<std::string>& settings) {
  return text.empty() ? read_config(path, settings) : read_config_text(text, "the dict", settings);
}

std::string trained(Training& asked) {
  const bool resumed = !asked.resume.empty();
  std::optional<RunDirectory> directory;
  ResumedConfig read;
  if (resumed) {
    directory.emplace(RunDirectory::open(asked.resume));
    const Done done = done_by(*directory);
    read = read_resumed_config(directory->config(), asked.settings, done.steps, done.origin ? done.origin->config : "");
  } else {
    read.config = config_of(asked.config, asked.text, asked.settings);
  }
  const Config& config = read.config;
  const bool has_checkpoint = directory && directory->has_checkpoint();
  Experiment experiment = make_experiment(config, {.is_resumed = has_checkpoint});
  check_memory(experiment);
  if (!directory) directory.emplace(RunDirectory::create(config.name, to_yaml(config), asked.out));
  const Terminal terminal;
  asked.tell(opening(experiment, directory->path(), terminal));
  const std::int64_t steps = config.optim.schedule.steps;
  Listener listener{
      [&](std::int64_t step, double loss) {
        asked.call([&] {
          if (!asked.on_step.is_none()) asked.on_step(step, loss);
        });
      },
      [&](std::int64_t step, double loss, const Evaluation& found) {
        asked.tell(fmt::format("step {} of {}  loss {:.4f}{}\n", step, steps, loss,
                               std::isnan(found.accuracy) ? "" : fmt::format("  accuracy {:.3f}", found.accuracy)));
      }};
  if (resumed)
    listener.on_begin = [&](std::int64_t step) {
      if (step == steps && !read.changes.empty()) {
        fail("{}: all of its {} steps are done, so these settings would change nothing: {}; also raise train.steps",
             directory->path().string(), step, fmt::join(read.changes, ", "));
      }
    };
  train(experiment, &*directory, listener, asked.stop);
  if (!asked.stop) asked.tell(closing(experiment, *directory, terminal));
  return directory->path().string();
}

JsonDict figures(const Evaluation& found) {
  nb::dict all;
  for (const auto& [name, value] : {std::pair("loss", found.loss),
                                    {"accuracy", found.accuracy},
                                    {"counterpart_accuracy", found.counterpart_accuracy},
                                    {"perplexity", found.perplexity},
                                    {"bits_per_byte", found.bits_per_byte}})
    if (!std::isnan(value)) all[name] = value;
  if (!found.antecedent_weight.empty()) all["antecedent_weight"] = nb::cast(found.antecedent_weight);
  return {all};
}

}  // namespace

void bind_programs(nb::module_& m) {
  nb::class_<Log>(m, "_Log")
      .def("__init__", [](Log* self, const std::string& path,
                          std::optional<std::int64_t> resume) { new (self) Log(path, {.resume = resume}); })
      .def_prop_ro(
          "path", [](const Log& log) { return log.path().string(); }, "The directory.")
      .def("_write",
           [](Log& log, std::int64_t step, const std::vector<std::pair<std::string, double>>& values) {
             log.write(step, {values.begin(), values.end()});
           })
      .def("_write_gradients", &Log::write_gradients)
      .def("_write_updates", [](Log& log, std::int64_t step, const Parameters& parameters, const nb::object& update) {
        log.write_updates(step, parameters, [&] { update(); });
      });
  m.attr("__version__") = HEED_VERSION;
  m.def("_inspect", &inspected, "words"_a, "width"_a, "progress"_a = nb::none());
  m.def(
      "_train",
      [](const std::string& config, const std::string& text, const std::vector<std::string>& settings,
         const std::string& out, const std::string& resume, const nb::object& write, const nb::object& on_step) {
        Training asked{config, text, out, resume, settings, write, on_step};
        std::string path;
        {
          const nb::gil_scoped_release release;
          path = trained(asked);
        }
        if (asked.raised) throw std::move(*asked.raised);
        return path;
      },
      "config"_a, "text"_a, "settings"_a, "out"_a, "resume"_a, "write"_a.none(), "on_step"_a.none());
  nb::class_<Experiment>(m, "_Experiment")
      .def("__init__",
           [](Experiment* self, const std::string& config, const std::string& text,
              const std::vector<std::string>& settings) {
             make_unlocked(self, [&] { return make_experiment(config_of(config, text, settings)); });
           })
      .def("_model", [](const Experiment& e) { return e.model; })
      .def(
          "_batch", [](const Experiment& e, std::int64_t step) { return training_batch(e, step); }, Unlocked())
      .def(
          "_loss",
          [](const Experiment& e, std::int64_t step) {
            Random random = Random(e.config.seed).stream("dropout").stream(static_cast<std::uint64_t>(step));
            return e.model.loss(training_batch(e, step),
                                {e.config.dropout, &random, e.config.embedding_dropout, e.config.attention_dropout});
          },
          Unlocked())
      .def("_optimizer",
           [](const Experiment& e) {
             const Config::Optim& optim = e.config.optim;
             return RatedOptimizer{Optimizer(e.model.parameters, optimizer_options(e)), name_of(optim.optimizer.method),
                                   optim.schedule.lr};
           })
      .def("_evaluate",
           [](const Experiment& e) {
             const Evaluation found = [&] {
               const nb::gil_scoped_release release;
               return evaluate(e, check_signals);
             }();
             return figures(found);
           })
      .def("_steps", [](const Experiment& e) { return e.config.optim.schedule.steps; })
      .def("_clip", [](const Experiment& e) { return e.config.optim.clip; })
      .def("_rate",
           [](const Experiment& e, std::int64_t step) { return learning_rate(e.config.optim.schedule, step); });
  m.def("set_threads", &set_threads, "threads"_a,
        "Sets the number of threads that operations use. It changes no result.");
  m.def("threads", &threads, "Returns the number of threads that operations use.");
  m.def("vector_instructions", &vector_instructions,
        "Returns the widest vector instructions in use: 'AVX-512', 'AVX2' or 'basic'.");
  m.def("blas_description", &blas_description,
        "Returns what computes large products: OpenBLAS and its kernels, or own kernels without it.");
  m.def("release_cached_memory", &release_cached_memory, "Returns memory that is cached for reuse to the system.");
  m.def(
      "memory_in_use", [] { return memory_use().bytes_in_use; }, "Returns the bytes that tensors hold.");
}

}  // namespace heed::python
