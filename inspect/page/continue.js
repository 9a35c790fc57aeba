// Continues a text token by token, with cached keys and values.
class Writer {
  constructor(reader) {
    this.reader = reader;
    this.forget();
  }
  forget() {
    this.read = 0;
    this.kept = this.reader.blocks.map(() => Array.from({length: this.reader.H}, () => ({K: [], V: []})));
  }

  // Reads one more token and returns the logits of the next one.
  next(token) {
    const {reader} = this, {d} = reader, at = this.read++;
    let x = reader.input([token], at);
    reader.blocks.forEach((block, layer) => {
      const {d_k, d_v} = block, X = block.norms.input ? normalised(x, block.norms.input) : x;
      const joined = new Float64Array(block.W_O.k);
      this.kept[layer].forEach(({K, V}, h) => {
        const q = reader.headQueries(block, X, 1, h, () => at);
        K.push(reader.headKeys(block, X, 1, h, () => at));
        V.push(reader.headValues(block, X, 1, h));
        const weights = softmax(Float64Array.from(
            K, (k, j) => reader.sees(block, at, j) ? capped(dot(q, 0, k, 0, d_k) * block.scale, block.cap) : -Infinity));
        weights.forEach((weight, j) => {
          for (let c = 0; c < d_v; ++c) joined[h * d_v + c] += weight * V[j][c];
        });
      });
      x = reader.after(block, x, joined, 1).output;
    });
    return reader.logits(reader.finalNorm ? normalised(x, reader.finalNorm) : x.subarray(0, d));
  }

  // Returns the logits after a text. Rereads the later half of a text that is too long, like `inspect generate`.
  after(tokens) {
    const {max_length} = this.reader.shape;
    let unread = this.read > 0 ? 1 : Math.min(tokens.length, max_length);
    if (this.read + unread > max_length) {
      this.forget();
      unread = Math.max(1, Math.floor(max_length / 2));
    }
    return tokens.slice(-unread).reduce((_, token) => this.next(token), null);
  }
}

// Returns a reproducible generator of numbers from 0 to 1 (mulberry32).
function drawnFrom(seed) {
  return () => {
    seed = seed + 0x6d2b79f5 | 0;
    let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
}

// Samples the index of a word from softmax(logits / temperature).
function drawn(logits, temperature, random) {
  const weights = softmax(logits.map((x) => x / temperature));
  let left = random();
  const found = weights.findIndex((weight) => (left -= weight) < 0);
  return found >= 0 ? found : weights.indexOf(Math.max(...weights));
}

// Generates `count` tokens after `begin`, a few at a time, and calls write(text) for each. Returns a function that stops it.
function goOn(reader, begin, count, write, done) {
  const tokens = [...begin], writer = new Writer(reader), random = drawnFrom(1), decoder = new TextDecoder();
  const bytesOfToken = (token) => /^<0x..>$/.test(token) ? Uint8Array.of(Number(token.slice(1, -1))) : bytesIn(token);
  let left = count, stopped = false;
  const some = () => {
    for (let i = 0; i < 4 && left > 0 && !stopped; ++i, --left) {
      const number = drawn(writer.after(tokens), 0.8, random);
      tokens.push(reader.vocabulary[number]);
      write(decoder.decode(bytesOfToken(reader.names[number]), {stream: true}));
    }
    left > 0 && !stopped ? setTimeout(some) : done();
  };
  setTimeout(some);
  return () => { stopped = true; };
}
