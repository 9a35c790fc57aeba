#include "bench/complexity.h"

#include <heed/files/file.h>
#include <heed/heed.h>
#include <heed/models/model.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace heed::bench {
namespace {

struct Sizes {
  int T = 64, batch = 8, d_model = 64, layers = 2;
};

Point measure_model(double size, const Sizes& s) {
  Parameters parameters;
  const Model model(
      Scope(parameters, 1),
      language_model({.vocabulary = 64,
                      .max_length = s.T,
                      .layers = s.layers,
                      .causal = true,
                      .block = {.attention = {.d_model = s.d_model, .heads = 4}, .mlp = {.width = 4 * s.d_model}}}));
  Optimizer adam(parameters, {});
  std::vector<std::int32_t> ids(static_cast<std::size_t>(s.T * s.batch));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * 7 % 64);
  const Batch batch{.tokens = Ids({s.batch, s.T}, ids), .targets = Ids({s.batch * s.T}, ids)};
  return measure_point(size, [&] {
    const Recording recording;
    const Gradients gradients = backward(model.loss(batch));
    adam.step(gradients, 1e-3, clip_factor(global_norm(gradients), 1));
  });
}

Point measure_graph(int operations) {
  const Tensor x = variable(full({}, 1.0));
  return measure_point(operations, [&] {
    const Recording recording;
    Tensor y = x;
    for (int i = 0; i < operations / 2; ++i) y = y * x + x;
    backward(y);
  });
}

std::vector<Series> measure_all() {
  std::vector<Series> all{{"tokens T", 2, 1, {}},
                          {"batch", 1, 1, {}},
                          {"d_model", 2, 1, {}},
                          {"layers", 1, 1, {}},
                          {"graph nodes", 1, 1, {}}};
  for (const int T : {64, 128, 256, 512, 1024, 2048}) {
    all[0].points.push_back(measure_model(T, {.T = T, .batch = 1}));
  }
  for (const int batch : {2, 4, 8, 16, 32, 64}) all[1].points.push_back(measure_model(batch, {.batch = batch}));
  for (const int d : {32, 64, 128, 256, 512}) all[2].points.push_back(measure_model(d, {.d_model = d}));
  for (const int layers : {1, 2, 4, 8, 16}) all[3].points.push_back(measure_model(layers, {.layers = layers}));
  for (const int nodes : {1000, 10'000, 100'000, 1'000'000}) all[4].points.push_back(measure_graph(nodes));
  return all;
}

// Draws one small chart, 200 wide and 150 high, at (left, top): the values of `of`, and a dashed line of `slope`
// through the last.
std::string chart(const Series& series, double Point::*of, const std::string& unit, double slope, int left, int top) {
  constexpr double width = 150, height = 95;
  const std::vector<Point>& points = series.points;
  const double last = points.back().size;
  const auto line = [&](double size) { return points.back().*of * std::pow(size / last, slope); };
  double low = line(points.front().size), high = low;
  for (const Point& p : points) {
    low = std::min({low, p.*of, line(p.size)});
    high = std::max({high, p.*of, line(p.size)});
  }
  const auto x = [&](double size) {
    return left + 40 + width * std::log(size / points.front().size) / std::log(last / points.front().size);
  };
  const auto y = [&](double value) { return top + 25 + height * (1 - std::log(value / low) / std::log(high / low)); };
  std::string path, dots;
  for (const Point& p : points) {
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : " L", x(p.size), y(p.*of));
    dots += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2.5' fill='#2166ac'/>", x(p.size), y(p.*of));
  }
  return fmt::format(
      "<text x='{}' y='{}' font-weight='bold'>{} against {}</text>"
      "<path d='M{} {} V{} H{}' fill='none' stroke='#999'/>"
      "<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='#d6604d' stroke-dasharray='4 3'/>"
      "<path d='{}' fill='none' stroke='#2166ac' stroke-width='1.5'/>{}"
      "<text x='{}' y='{}' text-anchor='end'>{:.3g}</text><text x='{}' y='{}' text-anchor='end'>{:.3g}</text>"
      "<text x='{}' y='{}'>{:g}</text><text x='{}' y='{}' text-anchor='end'>{:g}</text>\n",
      left + 40, top + 14, unit, series.what, left + 40, top + 25, top + 25 + height, left + 40 + width,
      x(points.front().size), y(line(points.front().size)), x(last), y(line(last)), path, dots, left + 36, top + 32,
      high, left + 36, top + 25 + height, low, left + 40, top + 38 + height, points.front().size, left + 40 + width,
      top + 38 + height, last);
}

}  // namespace

Point measure_point(double size, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  work();
  const std::int64_t before = memory_use().bytes_in_use;
  reset_peak_memory();
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 5; ++round) {
    const auto begin = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return {size, best, static_cast<double>(memory_use().peak_bytes - before) / 1e6};
}

std::string draw(const std::vector<Series>& all) {
  std::string svg =
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1020 310' font-family='sans-serif' font-size='11'>\n"
      "<rect width='1020' height='310' fill='white'/>\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int left = static_cast<int>(i) * 200;
    svg += chart(all[i], &Point::ms, "ms", all[i].time_slope, left, 0);
    svg += chart(all[i], &Point::mb, "MB", all[i].memory_slope, left, 150);
  }
  return svg + "</svg>\n";
}

void measure_complexity(const std::filesystem::path& picture) {
  const std::vector<Series> all = measure_all();
  fmt::print("| size | | ms | MB |\n|---|---|---|---|\n");
  for (const Series& series : all) {
    for (const Point& p : series.points) {
      fmt::print("| {} | {:g} | {:.3g} | {:.3g} |\n", series.what, p.size, p.ms, p.mb);
    }
  }
  write_file(picture, draw(all));
}

}  // namespace heed::bench
