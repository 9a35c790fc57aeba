// The user's own text, read by the model in the page and shown like the watched ones. Other views show it, too.
const tryView = {
  title: 'Try it',
  isFor: canType,
  lead: () => (runNow().served ? t`The program runs the model.` : t`The model is in this page.`) + t` Type, and it answers as you type. ` +
      (asLines(subject()) ? t`Press a word at the left to ask about it, and one at the right to remove the edge to it; ` : t`Press a token to ask about it; `) +
      (runNow().predicts === 'nothing' ? t`remove heads; see what becomes of the attention of later layers. This model has no head, so it gives no answer.` :
                                         t`remove heads; see what becomes of the answer.`),
  make() {
    const picture = sentenceView.make(), input = el('textarea', {rows: 2, spellcheck: 'false', 'aria-label': t`Your sentence`, oninput: () => retype()});
    const notice = el('p', {class: 'notice', role: 'alert'}), words = el('p'), buttons = el('div', {class: 'controls'}), written = el('p', {class: 'written'});
    const vocabulary = el('details', {class: 'as-table'}, el('summary'), words), candidates = el('p', {class: 'muted'}, t`It chooses among the candidates in brackets.`);
    const element = el('section', {}, candidates, input, buttons, notice, written, picture.element, vocabulary);
    let begun = {run: -1}, isStale = false, stop = null;  // stop(): ends the continuation of a text

    const begin = (engine) => {
      const sentence = Math.max(0, state.sentence), given = state.sentence === OWN ? state.own : runNow().sentences[sentence];
      input.value = given.typed ?? withBrackets(given.tokens, given.candidates ?? [], engine.gap);
      const lines = input.value.split('\n').map((line) => Math.max(1, Math.ceil(textWidth(line, 21) / (roomFor() - 40))));
      input.rows = Math.max(2, Math.min(6, total(lines)));
      begun = {run: state.run, sentence: state.sentence, text: input.value, given};
      words.replaceChildren(...engine.vocabulary.flatMap((one) => [word(one), ' ']));
      vocabulary.hidden = engine.vocabulary.length === 0;
      vocabulary.firstChild.textContent = t`The ${engine.vocabulary.length} ${said(engine.unit)} of its vocabulary`;
      candidates.hidden = !engine.hasCandidates;
      written.textContent = notice.textContent = '';
      isStale = false;
    };
    // Reads the text and shows it in all views, or says why it cannot be read.
    const retype = () => {
      const engine = engineOf(state.run), isGiven = input.value === begun.text, typed = input.value;
      const text = engine.understand(typed, isGiven ? begun.given : null, retype);
      if (!text) return;
      const before = state.sentence === OWN ? state.own : begun.given, at = afterEdit(before.tokens, text.tokens, before.query);
      const {tokens, pieces, candidates} = text, isHidden = (pieces ?? tokens)[at] === engine.mask;
      // A masked model is asked about the last hidden token, unless the reader pressed another; the question moves along with edits.
      const mayStay = !engine.isMasked || isGiven || (before.isChosen && (isHidden || !text.asked));
      const stays = at >= 0 && at < tokens.length && !engine.isNext && mayStay, query = stays ? at : text.query;
      const isCandidate = candidates?.some(([first, end]) => first === query && end === query + 1);
      const problem = text.problem ?? (isCandidate ? t`${visible(tokens[query])} is a candidate; ask about another word.` : null);
      notice.textContent = [
        ...(problem ? [] : text.notes.map(said)), ...lostCandidates(candidates, tokens), said(problem),
        problem || text.asked || stays ? null : whyLast(engine)
      ].filter(Boolean).join(' ');
      input.dir = direction(tokens);
      isStale = problem !== null;
      if (!problem) askOwn(engine, {tokens, pieces, query, candidates, typed, isChosen: stays && before.isChosen});
      update({});
    };
    // Says why a text is asked about its last token.
    const whyLast = ({queries, isMasked}) => isMasked ?
        t`The text hides no token, so it asks about its last one. Write [MASK] or <mask> for a token to hide it.` : queries.length === 0 ?
        t`The model knows no word that questions ask about; this text asks about its last token.` :
        t`The model was trained on questions about ${queries.slice(0, 6).map(visible).join(', ')} only; this text asks about its last token.`;
    // Finds candidates of the watched sentence that an edit left without brackets.
    const lostCandidates = (candidates, tokens) => {
      const before = begun.given.candidates ?? [], now = candidates?.map((span) => spanText({tokens}, span)) ?? [];
      if (!candidates || candidates.length >= before.length) return [];
      return before.map((span) => spanText(begun.given, span)).filter((name) => !now.includes(name)).map((name) => t`${name} is not a candidate any more.`);
    };
    const write = (engine) => {
      const text = engine.understand(input.value, null, () => write(engine));
      if (stop || !text || text.problem) return stop?.();
      written.textContent = input.value;
      stop = engine.goOn(asRead(text).tokens, 200, (token) => { written.textContent += token; }, () => {
        stop = null;
        update({});
      });
      update({});
    };
    return {
      ...picture,
      says: () => isStale ? [] : picture.says(),
      element,
      ownsSentence: true,
      followsTraining: () => hasModels(state.run),
      draw() {
        const engine = engineOf(state.run);
        if (!engine) return;
        const isOther = state.sentence === OWN ? state.own.isLinked && state.own.typed !== begun.text : begun.sentence !== state.sentence;
        if (begun.run !== state.run || isOther) begin(engine);
        if (state.sentence === OWN) begun.sentence = OWN;  // going back to a watched one begins anew
        renew(
            buttons, ...(engine.canContinue ? [button(stop ? t`Stop` : t`Continue the text`, () => write(engine))] : []),
            ...(state.sentence === OWN || isRemovedAny() ? [button(t`Reset`, () => {
              begun.run = -1;
              chooseSentence(Math.max(0, begun.sentence));
            }, {'aria-label': t`Reset: the watched sentence and the whole model`})] : []));
        notice.hidden = notice.textContent === '';
        picture.element.classList.toggle('stale', isStale);
        picture.draw();
        announce(notice.textContent || (shownNow().predicted && t`Answer ${visible(shownNow().predicted)}`));
      },
    };
  },
};

// Shows the user's own text, as soon as the model has read it.
function askOwn(engine, text, removed = []) {
  const reading = engine.read(asRead(text), [], () => askOwn(engine, text, removed));
  if (reading) update({own: asSubject(engine, text, reading), sentence: OWN, token: text.query, removed});
}

// Returns a reading in the form that views expect of a sentence.
function asSubject({step}, text, reading) {
  const {query} = text, [{word: predicted = '', probability} = {}] = reading.answers(query, 1);
  return {...text, antecedent: -1, predicted, probability, attention: reading.attention, heads: runNow().heads, step};
}
