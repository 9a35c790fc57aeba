// The circuits of one head on the model's words, and the sizes of its matrices.
const weightsView = {
  title: 'Circuits',
  isFor: ({model}) => Boolean(model),
  lead: () => 'The learned matrices of one head, the same for all sentences, on the model’s words: which word attends to which (QK), and ' +
      'which answer that raises (OV). Words without position, as the layer normalises them, untouched by other layers.',
  make() {
    const circuits = ['QK', 'OV'].map((kind) => circuitPart(kind)), choose = el('div'), sizes = el('div'), element = el('section');
    element.append(choose, el('div', {class: 'two'}, circuits.map((part) => part.element)), sizes);
    let drawnBy = null;
    const drawCircuits = function*(reader) {
      for (const part of circuits) {
        if (drawnBy === reader) part.draw(reader);
        yield;
      }
    };
    return {
      figures: [],
      element,
      followsTraining: () => hasModels(state.run),
      says: () => weightsSay(),
      draw() {
        const reader = readerOf(state.run);
        if (!reader) return;
        renew(choose, chooseHead(runNow().heads));
        renew(sizes, el('h2', {}, 'Sizes of the matrices'), table(
            ['', 'shape', 'Frobenius norm', 'singular values, the largest first'],
            matricesOf(reader, state.layer, state.head).map(({name, rows, columns, singular, norm}) => [
              name, `${rows} × ${columns}`, fixed(norm, 2), singular.slice(0, 6).map((x) => fixed(x, 2)).join('  ') + (singular.length > 6 ? ' …' : '')
            ]), {'aria-label': 'Sizes of the matrices'}));
        drawnBy = reader;
        inSlices(drawCircuits(reader), () => {});
      },
    };
  },
};

function weightsSay() {
  const reader = readerOf(state.run);
  if (!reader) return [];
  const [Q, , , O] = matricesOf(reader, state.layer, state.head);
  return [`The saved model ${stepOf(reader)}: W_Q of ${headName(state.layer, state.head)} has norm ${
      fixed(Q.norm, 2)} and largest singular value ${fixed(Q.singular[0], 2)}; W_O ${fixed(O.norm, 2)} and ${
      fixed(O.singular[0], 2)}.`];
}

// Returns the shapes and singular values of W_Q, W_K, W_V and W_O of one head: [{name, rows, columns, singular, norm}].
function matricesOf({blocks, d, singularValues}, layer, head) {
  const {d_k, d_v} = blocks[layer], singular = singularValues[layer][head];
  return [['W_Q', d, d_k], ['W_K', d, d_k], ['W_V', d, d_v], ['W_O', d_v, d]].map(
      ([name, rows, columns]) => ({name, rows, columns, singular: singular[name], norm: Math.hypot(...singular[name])}));
}
