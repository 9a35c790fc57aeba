// The engine of a page that `inspect serve` or a notebook shows: the program computes, and answers JSON (inspect/serve/served_model.h).
class ServedEngine {
  constructor({served, heads}) {
    // known: answers by request, the latest used last. waiting: requests {name, what, body, later}, the last is sent first.
    Object.assign(this, served, {heads, known: new Map(), waiting: [], sent: null});
  }

  // Returns the program's answer, or null until it has arrived; then calls later(). Drops requests that newer ones overtook.
  ask(what, request, later) {
    const body = JSON.stringify(request), name = what + body, found = this.known.get(name);
    if (found) {
      this.known.delete(name);
      this.known.set(name, found);
      return found;
    }
    const same = [this.sent, ...this.waiting].find((one) => one?.name === name);
    if (same) same.later.push(later);
    else this.waiting.push({name, what, body, later: [later]});
    if (this.waiting.length > 4) this.waiting.shift();
    this.send();
    return null;
  }
  async send() {
    if (this.sent || this.waiting.length === 0) return;
    const {name, what, body, later} = this.sent = this.waiting.pop();
    this.known.set(name, await this.answer(what, body));
    if (this.known.size > 8) this.known.delete(this.known.keys().next().value);
    this.sent = null;
    later.forEach((one) => one());
    this.send();
  }
  async answer(what, body) {
    if (isInNotebook) return kernel.ask(what, body);
    try {
      const response = await fetch(what, {method: 'POST', headers: {'Content-Type': 'application/json'}, body});
      return response.ok ? await response.json() : {problem: (await response.text()).trim()};
    } catch {
      return {problem: t`inspect serve does not answer. Start it again, and open the address that it prints.`};
    }
  }

  understand(text, given, later) {
    const found = this.ask('understand', {text}, later);
    return found && {tokens: [], notes: [], asked: true, ...found};
  }
  read({tokens, query, candidates}, removed, later) {
    const found = this.ask('read', {text: {pieces: tokens, query, candidates}, removed}, later);
    return !found || found.problem ? null : found.reading ??= new ServedReading(found, tokens, query, this.heads);
  }
  why({tokens, query, candidates}, edge, later) {
    const found = this.ask('why', {text: {pieces: tokens, query, candidates}, ...edge}, later);
    return found && Object.assign(found, {reference: found.reference_score});
  }
  circuits({tokens}, layer, head, later) {
    return this.ask('circuits', {text: {pieces: tokens, query: 0}, layer, head}, later);
  }
  goOn(tokens, count, write, done) {
    let left = count;
    const next = async () => {
      const text = {pieces: tokens.slice(-this.context), query: 0};
      const {pieces, written, ended} = await this.answer('continue', JSON.stringify({text, count: Math.min(left, 8)}));
      left = pieces && !ended ? left - 8 : 0;
      if (pieces) write(written);
      tokens = tokens.concat(pieces);
      left > 0 ? next() : done();
    };
    next();
    return () => { left = 0; };
  }
}

class ServedReading {
  constructor({attention, answers, bits, direct}, tokens, query, heads) {
    Object.assign(this, {attention: new Attention(tokens, heads, attention), all: answers, surprise: bits, heads, query});
    this.contributions = direct && new Float32Array(bytesOf(direct).buffer);  // (T, layers x heads)
  }
  answers(token, count) {
    const all = this.all[token] ?? [], list = all.slice(0, count), first = all.reduce((a, b) => b[2] > a[2] ? b : a, all[0]);
    if (list.length > 0 && !list.includes(first)) list.splice(-1, 1, first);
    return list.map(([word, probability, before]) => ({word, probability, before}));
  }
  probability(word) { return this.all[this.query]?.find(([answer]) => answer === word)?.[1] ?? NaN; }
  bits() { return this.surprise; }
  direct(token) {
    if (!this.contributions) return null;
    let at = token * total(this.heads);
    return {word: this.all[token].reduce((a, b) => b[1] > a[1] ? b : a)[0], values: this.heads.map((count) => this.contributions.subarray(at, at += count))};
  }
}

// A notebook shows the page in a frame, and a widget around it (python/heedml/page.py) sends {heed: {served}} when the kernel can
// compute. The page then sends {heed: {id, what, body}}, and gets {heed: {id, answer}}.
const isInNotebook = location.href.startsWith('about:srcdoc');
const kernel = {
  asked: [],  // by id, what takes the answer
  ask(what, body) {
    return new Promise((take) => parent.postMessage({heed: {id: this.asked.push(take) - 1, what, body}}, '*'));
  },
  // Makes the kernel the engine, and reads the sentence shown as the model's own tokens.
  offer(served) {
    const run = content.runs[0], {typed, pieces} = run.sentences[state.sentence];
    if (canType(run)) return;
    run.served = served;
    typed && !pieces ? readTyped(typed, null, []) : update({});
  },
};
if (isInNotebook) {
  addEventListener('message', ({source, data}) => {
    if (source !== parent || !data?.heed) return;
    const {served, id, answer} = data.heed;
    served ? kernel.offer(served) : kernel.asked[id]?.(answer);
  });
}
