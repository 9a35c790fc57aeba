#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

namespace heed {

struct Colour {
  std::uint8_t red, green, blue;  // sRGB
};

/// Colours of the weights 0, 1/8, ..., 1: one blue from near white to dark, in steps of equal perceived difference (OKLab).
/// The order is the same for colour-blind readers and in greyscale. Interpolation is linear in sRGB.
constexpr std::array<Colour, 9> colour_stops{{{248, 250, 252},
                                              {198, 229, 255},
                                              {148, 204, 255},
                                              {101, 176, 252},
                                              {68, 144, 234},
                                              {45, 112, 208},
                                              {33, 80, 175},
                                              {25, 52, 138},
                                              {18, 26, 99}}};

/// Returns the colour of a weight in [0, 1].
inline Colour colour_of(double weight) {
  const double position = std::clamp(weight, 0.0, 1.0) * (colour_stops.size() - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(position), colour_stops.size() - 2);
  const auto between = [&](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + (b - a) * (position - static_cast<double>(below))));
  };
  const Colour a = colour_stops[below], b = colour_stops[below + 1];
  return {between(a.red, b.red), between(a.green, b.green), between(a.blue, b.blue)};
}

/// Returns "#c6e5ff".
inline std::string hex(Colour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

/// Text is white above this weight and dark below; the contrast is at least 4.3 to 1 in both cases.
constexpr double white_text_from = 0.6;

}  // namespace heed
