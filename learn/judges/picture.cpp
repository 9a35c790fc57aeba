#include "given/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace learn {
namespace {

// Returns a text of an SVG file.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

}  // namespace

std::string picture(const std::vector<DrawnEntry>& entries, const std::vector<std::string>& names, bool in_chinese) {
  constexpr int width = 136, height = 74, across = 220, down = 104, left = 20, top = 40;
  const std::size_t count = entries.size(), last = count - 1;
  const auto number = [](double x) {
    std::string text = fmt::format("{:.4g}", x == 0 ? 0 : x);
    return text.replace(0, text[0] == '-' ? 1 : 0, text[0] == '-' ? "−" : "");
  };

  const auto factor = [&](double x) { return x < 0 ? "(" + number(x) + ")" : number(x); };

  // An entry stands right of all its inputs. Entries that y was not computed from are left out.
  std::vector<int> column(count), row(count), in_column;
  std::vector<bool> is_read(count);
  std::vector<std::string> label(count);
  is_read[last] = true;
  for (std::size_t u = count; u-- > 0;) {
    for (const auto& v : entries[u].inputs) is_read[v.entry] = is_read[v.entry] || is_read[u];
  }
  for (std::size_t u = 0, leaf = 0; u < count; ++u) {
    const bool is_leaf = entries[u].inputs.empty();
    label[u] = is_leaf && leaf < names.size() ? names[leaf] : entries[u].operation;
    leaf += is_leaf ? 1 : 0;
    if (!is_read[u]) continue;
    for (const auto& v : entries[u].inputs) column[u] = std::max(column[u], column[v.entry] + 1);
    in_column.resize(std::max(in_column.size(), static_cast<std::size_t>(column[u]) + 1));
    row[u] = in_column[static_cast<std::size_t>(column[u])]++;
  }
  const int rows = *std::ranges::max_element(in_column);
  const auto x = [&](std::size_t u) { return left + across * column[u]; };
  const auto y_of = [&](std::size_t u) {  // columns are centred
    return top + down * row[u] + down * (rows - in_column[static_cast<std::size_t>(column[u])]) / 2;
  };
  const int wide = left + across * static_cast<int>(in_column.size()) - across + width + left,
            bottom = top + down * rows;
  const int page = std::max(wide, 460);

  std::string edges, boxes, steps;
  std::vector<double> gradient(count);
  gradient[last] = 1;
  const auto step = [&](const std::string& says, std::size_t at, const std::string& changes) {
    steps += fmt::format("{{says:\"{}\",at:{},changes:{{{}}}}},\n", says, at, changes);
  };
  step(in_chinese ? fmt::format("第 {} 项是 y，dy/dy = 1。", last) : fmt::format("Entry {} is y: dy/dy = 1.", last),
       last, fmt::format("{}:\"1\"", last));
  for (std::size_t u = count; u-- > 0;) {
    if (!is_read[u] || entries[u].inputs.empty()) continue;
    std::string says =
        in_chinese ? fmt::format("第 {} 项（{}）的梯度 {} 已经完整。", u, label[u], number(gradient[u]))
                   : fmt::format("The gradient of entry {} ({}), {}, is complete.", u, label[u], number(gradient[u]));
    std::string changes;
    for (const auto& [v, derivative] : entries[u].inputs) {
      const double added = gradient[u] * derivative, before = gradient[v];
      gradient[v] += added;
      const std::string sum = before == 0 ? "" : fmt::format("{} + {} = ", number(before), factor(added));
      says += fmt::format(fmt::runtime(in_chinese ? " 第 {} 项得到 {} × {} = {}。" : " Entry {} gets {} × {} = {}."), v,
                          number(gradient[u]), factor(derivative), number(added));
      changes += fmt::format("{}:\"{}{}\",", v, sum, number(gradient[v]));
      // A curve over the boxes between the two, if there are any.
      const double x1 = x(v) + width, y1 = y_of(v) + height / 2, x2 = x(u), y2 = y_of(u) + height / 2;
      double over = top + down * rows;
      for (std::size_t w = v + 1; w < u; ++w) {
        if (is_read[w] && column[w] > column[v] && column[w] < column[u]) over = std::min(over, y_of(w) - 14.0);
      }
      const bool is_long = column[u] > column[v] + 1;
      const double bend = (over - (y1 + y2) / 8) / 0.75, from = is_long ? bend : y1, to = is_long ? bend : y2;
      const double label_x = is_long ? (x1 + 9 * (x1 + 50) + 27 * (x2 - 50) + 27 * x2) / 64 : (x1 + x2) / 2;
      const double label_y = is_long ? (y1 + 9 * from + 27 * to + 27 * y2) / 64 : (y1 + y2) / 2;
      edges += fmt::format(
          "<path class=\"edge from{}\" d=\"M{:.1f},{:.1f}C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}\"/><text "
          "class=\"derivative\" "
          "x=\"{:.1f}\" y=\"{:.1f}\">× {}</text>\n",
          u, x1, y1, x1 + 50, from, x2 - 50, to, x2, y2, label_x, label_y - 6, factor(derivative));
    }
    step(says, u, changes);
  }
  for (std::size_t u = 0; u < count; ++u) {
    if (!is_read[u]) continue;
    const int at = y_of(u), middle = x(u) + width / 2;
    boxes += fmt::format(
        "<rect id=\"box{}\" class=\"box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"/><text class=\"name\" "
        "x=\"{}\" y=\"{}\">{}: "
        "{}</text><text x=\"{}\" y=\"{}\">{}</text><text id=\"gradient{}\" class=\"gradient\" x=\"{}\" "
        "y=\"{}\">{}</text>\n",
        u, x(u), at, width, height, middle, at + 20, u, escaped(label[u]), middle, at + 42, number(entries[u].number),
        u, middle, at + 64, number(gradient[u]));
  }
  const auto say = [&](const char* english, const char* chinese) { return in_chinese ? chinese : english; };
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" font-family="system-ui, 'Noto Sans CJK SC', sans-serif" font-size="15" text-anchor="middle" lang="{2}">
<style>
svg {{ background: #fff; cursor: pointer; }} text {{ fill: #16191f; }} .name {{ font-weight: 700; }} .box {{ fill: #f4f6fa; stroke: #9aa3b2; }}
.edge {{ fill: none; stroke: #9aa3b2; stroke-width: 1.5; }} .derivative, .note {{ fill: #5a6372; font-size: 13px; }} .derivative {{ stroke: #fff; stroke-width: 4px; paint-order: stroke; }} .gradient {{ fill: #b4430a; font-weight: 700; }}
.says, .note {{ text-anchor: start; }} .at {{ stroke: #b4430a; stroke-width: 3; }} .passes {{ stroke: #b4430a; stroke-width: 3; }}
</style>
{3}{4}<g id="says" class="says"></g>
<text id="note" class="note" x="{5}" y="{6}">{7}</text>
<script><![CDATA[
const steps = [
{8}];
let shown = 0;  // steps
const draw = () => {{
  document.querySelectorAll('.gradient').forEach((one) => {{ one.textContent = ''; }});
  document.querySelectorAll('.at, .passes').forEach((one) => one.classList.remove('at', 'passes'));
  steps.slice(0, shown).forEach(({{changes}}, i) => Object.entries(changes).forEach(([entry, text]) => {{
    document.getElementById('gradient' + entry).textContent = i + 1 < shown ? text.split(' ').pop() : text;
  }}));
  const last = steps[shown - 1], words = last ? last.says.split(/(?<=[.。]) /) : [{9}];
  if (last) document.getElementById('box' + last.at).classList.add('at');
  if (last && shown > 1) document.querySelectorAll('.from' + last.at).forEach((one) => one.classList.add('passes'));
  document.getElementById('says').replaceChildren(...words.map((line, i) => {{
    const text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
    text.setAttribute('x', {5});
    text.setAttribute('y', {10} + 22 * i);
    text.textContent = line;
    return text;
  }}));
  document.getElementById('note').textContent = `${{shown}} / ${{steps.length}} · ` + {11};
}};
const go = (by) => {{
  shown = (shown + by + steps.length + 1) % (steps.length + 1);
  draw();
}};
addEventListener('click', () => go(1));
addEventListener('keydown', ({{key}}) => ['ArrowRight', ' '].includes(key) ? go(1) : key === 'ArrowLeft' && go(-1));
draw();
]]></script>
</svg>
)",
      page, bottom + 120, in_chinese ? "zh-Hans" : "en", edges, boxes, left, bottom + 106,
      say("number of the entry: operation; value; gradient dy/dv", "项的编号：运算；值；梯度 dy/dv"), steps,
      say("'The values, computed from left to right.'", "'从左到右算出的值。'"), bottom + 20,
      say("'press, or use the arrow keys: the walk goes backward'", "'点击或按方向键：倒着走一步'"));
}

std::string picture(const std::vector<std::vector<DrawnMatrix>>& lines, const std::string& note) {
  constexpr int cell = 54, height = 30, left = 20, names = 46, gap = 44;
  std::string drawn;
  int y = 30, widest = 460;
  for (const std::vector<DrawnMatrix>& line : lines) {
    int x = left;
    std::size_t rows = 0;
    for (const DrawnMatrix& matrix : line) {
      const std::size_t count = matrix.values.size() / matrix.rows.size();
      const int columns = static_cast<int>(count), from = x + names;
      double most = 1e-9;
      for (const double value : matrix.values) most = std::max(most, std::abs(value));
      drawn += fmt::format("<text class=\"name\" x=\"{}\" y=\"{}\">{}</text>\n", from, y, escaped(matrix.formula));
      for (std::size_t j = 0; j < matrix.columns.size(); ++j)
        drawn += fmt::format("<text class=\"note middle\" x=\"{}\" y=\"{}\">{}</text>\n",
                             from + cell * static_cast<int>(j) + cell / 2, y + 22, escaped(matrix.columns[j]));
      for (std::size_t n = 0; n < matrix.values.size(); ++n) {
        const int row = static_cast<int>(n / count), column = static_cast<int>(n % count);
        const double value = matrix.values[n], share = std::abs(value) / most;
        const int at_x = from + cell * column, at_y = y + 30 + height * row;
        if (column == 0)
          drawn += fmt::format("<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>\n", from - 6, at_y + 20,
                               escaped(matrix.rows[n / count]));
        drawn += fmt::format(
            "<g><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" fill-opacity=\"{:.2f}\"/><text "
            "class=\"middle\" x=\"{}\" "
            "y=\"{}\">{}</text>{}</g>\n",
            at_x, at_y, cell - 2, height - 2, value < 0 ? "#e08a3c" : "#1f6fd0", 0.06 + 0.5 * share,
            at_x + cell / 2 - 1, at_y + 19, fmt::format("{}{:.2f}", value < -0.005 ? "−" : "", std::abs(value)),
            n < matrix.says.size() ? fmt::format("<title>{}</title>", escaped(matrix.says[n])) : "");
      }
      rows = std::max(rows, matrix.rows.size());
      x = from + cell * columns + gap;
    }
    widest = std::max(widest, x);
    y += 30 + height * static_cast<int>(rows) + 50;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"system-ui, 'Noto Sans CJK SC', "
      "sans-serif\" "
      "font-size=\"14\">\n<style>svg {{ background: #fff; }} text {{ fill: #16191f; }} .name {{ font-weight: 700; }} "
      ".middle {{ text-anchor: middle; }} "
      ".end {{ text-anchor: end; }} .note {{ fill: #5a6372; font-size: 13px; }}</style>\n{}<text class=\"note\" "
      "x=\"{}\" y=\"{}\">{}</text>\n</svg>\n",
      widest, y + 10, drawn, left, y - 8, escaped(note));
}

}  // namespace learn
