// At which layers and tokens is what the answer needs? Shows how much single activations restore in minimal pairs of held-out sentences
// (explain/studies/restored.h), for the pairs of the shown sentence's kind: as many tokens, asked at the same one.
const restoredTables = [
  {name: 'residual', title: t`residual stream`, row: (layer) => t`before layer ${layer + 1}`},
  {name: 'attention', title: t`attention output`, row: (layer) => t`attention of layer ${layer + 1}`},
  {name: 'mlp', title: t`MLP output`, row: (layer) => t`MLP of layer ${layer + 1}`},
];

class RestoredPart {
  constructor() {
    this.chosen = 0;
    this.figure = new Figure(t`what each activation restores`, () => this.csv(), () => [...aboutCauses(), this.table().title, shortened(subject().tokens)]);
    this.choose = el('div');
    this.lead = el('p');
    this.element = el('div', {}, this.lead, this.choose, this.figure.element);
    explore(this.figure, (row, column, map) => map.ramp ? null : this.described(map.rows - 1 - row, column));
  }
  map() {
    const {tokens, query} = subject();
    return runNow().restored.find((map) => map.tokens === tokens.length && map.query === query);
  }
  tables() { return restoredTables.filter(({name}) => this.map()[name]); }
  table() { return this.tables()[this.chosen] ?? this.tables()[0]; }
  layers() { return this.map()[this.table().name].length / this.map().tokens / 4; }

  // Returns {share, low, high, isShown} of a cell; an end that is unknown is NaN.
  cell(layer, token) {
    const numbers = this.map()[this.table().name], at = 4 * (layer * this.map().tokens + token);
    const [share, low, high] = numbers.slice(at, at + 3).map((x) => x === null ? NaN : x / 10000);
    return {share, low, high, isShown: numbers[at + 3] === 1};
  }
  described(layer, token) {
    const {share, low, high, isShown} = this.cell(layer, token), {tokens} = subject();
    const text = t`${this.table().row(layer)}, ${placed(tokens, token)}: restores ${percent(share)} (${fixed(100 * low, 1)} to ${fixed(100 * high, 1)})`;
    return isShown ? [text] : [text, t`; not shown to differ from 0`];
  }
  csv() {
    const {tokens} = subject(), rows = [];
    for (let layer = 0; layer < this.layers(); ++layer) {
      tokens.forEach((token, i) => {
        const {share, low, high, isShown} = this.cell(layer, i);
        rows.push([layer + 1, i + 1, token, share, low, high, isShown ? 1 : 0]);
      });
    }
    return [['layer', 'token', 'text', 'restored', 'at least', 'at most', 'shown to differ from 0'], ...rows];
  }

  draw() {
    const {tokens, query} = subject(), map = this.map();
    this.choose.hidden = this.figure.element.hidden = !map?.is_shown;
    if (!map) {
      return renew(this.lead, t`The held-out sentences have too few minimal pairs of this sentence’s kind: of ${tokens.length} tokens that ask about token ${query + 1}.`);
    }
    if (!map.is_shown) return renew(this.lead, t`In ${grouped(map.pairs)} minimal pairs of this sentence’s kind the model is not shown to tell both sentences apart, so there is nothing to restore.`);
    renew(this.lead, t`In ${grouped(map.pairs)} pairs of sentences that differ in one word and in the answer, one activation of a sentence is put into its counterpart. A square shows how much of the change of the answer that brings: 1 all of it, 0 nothing, or not shown to differ from 0. Layers go up; the words are those of this sentence, and other pairs have others in their places.`);
    renew(this.choose, select(t`Activation`, this.tables().map(({title}) => title), this.tables().indexOf(this.table()), (chosen) => {
      this.chosen = chosen;
      update({});
    }));
    const {row} = this.table(), layers = this.layers(), T = tokens.length, values = new Float32Array(layers * T), room = roomFor();
    const order = Array.from({length: layers}, (_, i) => layers - 1 - i), columns = tokens.map((_, i) => placed(tokens, i));
    const rows = order.map((layer) => room > 600 ? row(layer) : String(layer + 1)), found = [];
    order.forEach((layer, i) => {
      for (let token = 0; token < T; ++token) {
        const {share, isShown} = this.cell(layer, token);
        if (!isShown) continue;
        values[i * T + token] = share;
        found.push({share, text: this.described(layer, token)[0]});
      }
    });
    const range = values.reduce((most, x) => Math.max(most, Math.abs(x)), 1), cell = cellFor(rows, columns, room, 52), {left, top, right} = axisSizes(rows, columns, cell);
    const isNegative = values.some((x) => x < 0), scale = (isNegative ? scales.signed : scales.weight).within(range), width = left + cell * T + right, below = top + layers * cell + 12, wide = Math.min(190, cell * T);
    this.figure.begin(Math.max(width, left + wide), below + 34, found.sort((a, b) => b.share - a.share).slice(0, 5).map(({text}) => text).join('; '));
    drawMatrix(this.figure, 0, 0, cell, {rows, columns, values, scale, markColumn: query});
    drawLegend(this.figure, left, below, wide, scale, {text: t`share restored`, ends: [isNegative ? `−${fixed(range, 1)}` : '0', fixed(range, 1)]});
  }
}
