"""Programs that Tracr (Lindner et al. 2023, arXiv:2301.05062) compiles into transformers, as heed models: run
`python3 tests/golden/make_tracr.py` with tracr-pypi and safetensors installed. For each program it writes
tests/golden/tracr/NAME/, which is part of the tree:

model.safetensors   the compiled weights, a heed model without norms that answers at each token with the program's output
golden.safetensors  all inputs of the program and their outputs
edges.json          the edges of the program's circuit

An edge leads from the output of the embedding, a head or an MLP to what a head (query, key or value), an MLP or the logits
read. It belongs to the circuit where the writer's output, multiplied by the reader's weights, differs between inputs of the
same length, and where the output follows from the reader along such edges. An edge that carries positions or constants alone
therefore does not belong to it: replacing its content by that of another input changes nothing. The weights of a query are
W_Q W_K^T, those of a key W_K W_Q^T and those of a value W_V W_O.
"""

import itertools
import json
import pathlib

import numpy as np
from safetensors.numpy import save_file
from tracr.compiler import basis_inference, craft_graph_to_model, craft_model_to_transformer, expr_to_craft_graph, lib
from tracr.compiler import nodes, rasp_to_graph
from tracr.craft import bases
from tracr.rasp import rasp

here = pathlib.Path(__file__).parent / "tracr"
bos, pad = "BOS", "PAD"  # words that heed cuts a text into, too

# name: (the program, its letters, the most letters of an input, and whether letters may repeat)
programs = {
    "frac_prevs": (lambda: lib.make_frac_prevs(rasp.tokens == "x"), "wxy", 5, True),
    "pair_balance": (lambda: lib.make_pair_balance(rasp.tokens, "(", ")"), "()a", 5, True),
    "dyck": (lambda: lib.make_shuffle_dyck(["()"]), "()", 4, True),
    "hist": (lib.make_hist, "abc", 4, True),
    "reverse": (lambda: lib.make_reverse(rasp.tokens), "abc", 4, True),
    "sort": (lambda: lib.make_sort_unique(rasp.tokens, rasp.tokens), "12345", 4, False),
    "detect_pattern": (lambda: lib.detect_pattern(rasp.tokens, "ab"), "abc", 4, True),
    "count_less_freq": (lambda: lib.make_count_less_freq(1), "abc", 4, True),
}


def compile_program(program, letters, length):
    """Returns Tracr's model and the space of its outputs, by the steps of tracr.compiler.compiling."""
    values = {int(letter) if letter.isdigit() else letter for letter in letters}
    extracted = rasp_to_graph.extract_rasp_graph(program)
    graph, sources, sink = extracted.graph, extracted.sources, extracted.sink
    basis_inference.infer_bases(graph, sink, values, length)
    expr_to_craft_graph.add_craft_components_to_rasp_graph(
        graph, bos_dir=bases.BasisDirection(rasp.tokens.label, bos), mlp_exactness=100)
    craft = craft_graph_to_model.craft_graph_to_model(graph, sources)
    model = craft_model_to_transformer.craft_model_to_transformer(
        craft_model=craft, graph=graph, sink=sink, max_seq_len=length, compiler_bos=bos, compiler_pad=pad)
    return model, bases.VectorSpaceWithBasis(sink[nodes.OUTPUT_BASIS])


def inputs_of(letters, length, may_repeat):
    for size in range(1, length + 1):
        yield from itertools.product(letters, repeat=size) if may_repeat else itertools.permutations(letters, size)


def export(name):
    make, letters, length, may_repeat = programs[name]
    model, output_space = compile_program(make(), letters, length)
    config, params = model.model_config, {k: {n: np.asarray(v) for n, v in p.items()} for k, p in model.params.items()}
    embedding, positions = params["token_embed"]["embeddings"], params["pos_embed"]["embeddings"]
    d, H, k, L = embedding.shape[1], config.num_heads, config.key_size, config.num_layers
    directions = [model.residual_labels.index(str(direction)) for direction in output_space.basis]
    numbers = model.input_encoder.encoding_map
    words = [str(word) for word in sorted(numbers, key=numbers.get)]
    outputs = [f"output {direction.value}" if direction.value is not None else "output" for direction in output_space.basis]

    tensors = {"words.weight": np.concatenate([embedding, np.zeros((len(outputs), d))]), "positions.weight": positions}
    unembedding = np.zeros((len(words) + len(outputs), d))
    unembedding[np.arange(len(words), len(unembedding)), directions] = 1
    tensors["unembedding"] = unembedding
    reads = []  # inputs, their weights, and the readers that they belong to
    for l in range(L):
        part = {n: params[f"transformer/layer_{l}/attn/{n}"]["w"] for n in ("query", "key", "value", "linear")}
        for ours, theirs in (("W_Q", "query"), ("W_K", "key"), ("W_V", "value"), ("W_O", "linear")):
            tensors[f"encoder.{l}.attention.{ours}.weight"] = part[theirs]
        for ours, theirs in (("in", "linear_1"), ("out", "linear_2")):
            tensors[f"encoder.{l}.mlp.{ours}.weight"] = params[f"transformer/layer_{l}/mlp/{theirs}"]["w"]
        heads = [slice(h * k, (h + 1) * k) for h in range(H)]
        for h, columns in enumerate(heads):
            scores = part["query"][:, columns] @ part["key"][:, columns].T
            moved = part["value"][:, columns] @ part["linear"][columns]
            for kind, weights in (("query", scores), ("key", scores.T), ("value", moved)):
                reads.append(((kind, l, h), weights, ("head", l, h)))
        mlp = tensors[f"encoder.{l}.mlp.in.weight"]
        useful = (tensors[f"encoder.{l}.mlp.out.weight"] != 0).any(axis=1)
        reads.append((("mlp", l, -1), mlp[:, useful], ("mlp", l, -1)))
    reads.append((("logits", -1, -1), np.eye(d)[:, directions], ("logits", -1, -1)))

    texts = list(inputs_of(letters, length, may_repeat))
    T, N = length + 1, len(texts)
    tokens, results = np.zeros((N, T), np.int32), np.zeros((N, T, len(outputs)), np.float32)
    lengths = np.array([len(text) + 1 for text in texts], np.int32)
    carried = set()  # writers and inputs, between which something differs between texts of the same length
    for size in range(1, length + 1):
        group = [i for i, text in enumerate(texts) if len(text) == size]
        ids = np.array([[numbers[int(t) if t.isdigit() else t] for t in (*texts[i],)] for i in group])
        ids = np.concatenate([np.full((len(group), 1), numbers[bos]), ids], axis=1)
        states = np.asarray(model.forward(model.params, ids).transformer_output.output)  # Tracr's own
        x = (embedding[ids] + positions[: size + 1]).astype(np.float64)
        parts = {("embedding", -1, -1): x}
        for l in range(L):
            weight = {n: tensors[f"encoder.{l}.attention.{n}.weight"] for n in ("W_Q", "W_K", "W_V", "W_O")}
            split = lambda y: y.reshape(*y.shape[:2], H, k).swapaxes(1, 2)
            q, key, v = (split(x @ weight[n]) for n in ("W_Q", "W_K", "W_V"))
            score = q @ key.swapaxes(-1, -2) / np.sqrt(k)
            attention = np.exp(score - score.max(-1, keepdims=True))
            z = attention / attention.sum(-1, keepdims=True) @ v
            for h in range(H):
                parts["head", l, h] = z[:, h] @ weight["W_O"][h * k:(h + 1) * k]
            x = x + sum(parts["head", l, h] for h in range(H))
            parts["mlp", l, -1] = np.maximum(x @ tensors[f"encoder.{l}.mlp.in.weight"], 0) @ tensors[f"encoder.{l}.mlp.out.weight"]
            x = x + parts["mlp", l, -1]
        for writer, y in parts.items():
            carried.update((writer, to) for to, weights, _ in reads if (np.ptp(y @ weights, axis=0) > 1e-3).any())
        assert np.abs(x - states).max() < 1e-4 * max(1, np.abs(states).max()), name
        for row, i in enumerate(group):
            tokens[i, : size + 1], results[i, : size + 1] = ids[row], states[row][:, directions]

    order = {writer: 2 * writer[1] + (writer[0] == "mlp") for writer in parts}  # the embedding comes before all
    needed, edges = {("logits", -1, -1)}, []
    for (kind, l, h), _, reader in reversed(reads):
        if reader not in needed:
            continue
        before = 2 * l + (kind == "mlp") if kind != "logits" else 2 * L
        for writer in order:
            if order[writer] < before and (writer, (kind, l, h)) in carried:
                edges.append({"from": writer, "to": [kind, l, h]})
                needed.add(writer)
    described = {
        "kind": "word_answerer",
        "transformer": {"max_length": T, "segments": 0, "layers": L, "causal": False, "positions": "learned", "final_norm": False,
                        "last_residual": True,
                        "block": {"attention": {"d_model": d, "heads": H, "d_k": k, "d_v": k, "output_bias": False},
                                  "mlp": {"width": config.mlp_hidden_size, "activation": "relu", "bias": False},
                                  "norm": {"kind": "none"}}},
        "logits": {"tied": False, "bias": False}}
    directory = here / name
    directory.mkdir(parents=True, exist_ok=True)
    metadata = {"heed.model": json.dumps(described), "heed.vocabulary": json.dumps(words + outputs), "heed.queries": "[]",
                "heed.split": "words", "heed.step": "0"}
    save_file({n: np.ascontiguousarray(t, np.float32) for n, t in tensors.items()}, directory / "model.safetensors", metadata)
    save_file({"tokens": tokens, "lengths": lengths, "outputs": results}, directory / "golden.safetensors")
    (directory / "edges.json").write_text(
        "[\n" + ",\n".join(json.dumps(edge) for edge in reversed(edges)) + "\n]\n")
    size = sum(file.stat().st_size for file in directory.iterdir())
    print(f"{name:16} d_model {d:3}  layers {L}  heads {H}  d_k {k:3}  mlp {config.mlp_hidden_size:4}  {N:4} inputs  "
          f"{len(edges)} edges  {size / 1024:.0f} KB")


if __name__ == "__main__":
    for name in programs:
        export(name)
