// Colours of the current theme, read from page.css.
const ink = {};
const inkNames = [
  'ground', 'panel', 'text', 'muted', 'line', 'accent', 'mark', 'orange', 'head-0', 'head-1', 'head-2', 'head-3', 'head-4', 'head-5', 'head-6',
  'head-7'
];

const isDark = () => document.documentElement.dataset.theme === 'dark';

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  const style = getComputedStyle(document.documentElement);
  for (const key of inkNames) ink[key] = style.getPropertyValue(`--${key}`).trim();
  scales.weight = new Scale(isDark() ? [darkest, ...content.colours.slice(0, -1).reverse()] : content.colours, 0, 1);
  const positive = content.colours.slice(0, 8);
  const both = [...orangeStops].reverse().concat(positive.slice(1));
  scales.surprise = new Scale(isDark() ? [darkest, ...orangeStops.slice(1).map(darker)] : orangeStops, 0, 10);
  scales.signed = new Scale(isDark() ? both.map(darker) : both, -1, 1);
}

// Orange for negative numbers. Each stop has the lightness of the blue stop in views/colour.h.
const orangeStops = [[248, 250, 252], [255, 222, 196], [255, 192, 141], [247, 160, 88], [228, 126, 40], [196, 94, 13], [152, 68, 8], [112, 45, 6]];
// Inverts the lightness: in the dark theme 0 is dark and large numbers are light.
const darker = ([r, g, b]) => {
  const gray = (Math.max(r, g, b) + Math.min(r, g, b)) / 2, turned = 275 - gray;
  return [r, g, b].map((x) => Math.max(0, Math.min(255, Math.round(turned + (x - gray) * 0.75))));
};
const darkest = [27, 34, 50];  // weight 0 in the dark theme, close to its background
const scales = {};

// 256 colours between `stops`, for numbers from low to high.
class Scale {
  constructor(stops, low, high) {
    Object.assign(this, {low, high, packed: new Uint32Array(256), named: []});
    for (let i = 0; i < 256; ++i) {
      const place = i / 255 * (stops.length - 1), below = Math.min(Math.floor(place), stops.length - 2);
      const [r, g, b] = stops[below].map((x, c) => Math.round(x + (stops[below + 1][c] - x) * (place - below)));
      this.packed[i] = 255 << 24 | b << 16 | g << 8 | r;
    }
  }
  // Returns colour i and its text colour.
  number(i) {
    if (!this.named[i]) {
      const rgb = [0, 8, 16].map((bits) => this.packed[i] >> bits & 255);
      this.named[i] = {rgb: `rgb(${rgb})`, text: textOn(rgb)};
    }
    return this.named[i];
  }
  // Returns the same colours for numbers from -range to range, or from 0 to range.
  within(range) { return Object.assign(Object.create(this), {low: this.low < 0 ? -range : 0, high: range}); }
  name(x) { return this.number(Math.max(0, Math.min(255, Math.round((x - this.low) / (this.high - this.low) * 255)))); }
  colour(x) { return this.name(x).rgb; }
  text(x) { return this.name(x).text; }
  // Writes the colours of all values as pixels of an image.
  pixels(values, into) {
    const {low, packed} = this, factor = 255 / (this.high - low);
    for (let i = 0; i < values.length; ++i) {
      const place = (values[i] - low) * factor + 0.5;
      into[i] = packed[place < 0 ? 0 : place > 255 ? 255 : place | 0];
    }
  }
}

// A head has its own colour while the sentence view shows it. The other heads share one colour.
const headColour = (layer, head) => state.shown.has(key(layer, head)) ? ink[`head-${state.shown.get(key(layer, head))}`] : ink.accent;

// Relative luminance and contrast (WCAG 2.2, section 1.4.3). Black or white always has a contrast above 4.5.
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((x) => x / 255).map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
};
const textOn = (rgb) => contrast(rgb, [0, 0, 0]) >= contrast(rgb, [255, 255, 255]) ? '#000000' : '#ffffff';
