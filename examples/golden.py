"""Writes what `transformers` computes for a model, to compare heed's numbers with:

    python3 golden.py DIR "The animal didn't cross the street because it was too tired" golden.safetensors
    inspect verify DIR --against golden.safetensors

For a directory without a tokenizer give ids in place of the text: 5,17,3. It needs torch, transformers and safetensors. All is computed in float64, rotary embeddings, norms and softmax included. The
file holds `ids` (T), `hidden` (layers + 1, T, d_model): what each layer reads and the last state, `weights` (layers, heads, T,
T) and, for a model with a head, `logits` (T, vocabulary), or (classes) of a classifier of texts.
"""

import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file


def load(directory):
    """Returns the model in float64."""
    config = transformers.AutoConfig.from_pretrained(directory)
    names = getattr(config, "architectures", None) or ["AutoModel"]
    kind = getattr(transformers, names[0])
    model = kind.from_pretrained(directory, dtype=torch.float64, attn_implementation="eager").eval()
    # transformers asks for float32 in norms, softmax and rotary embeddings, whatever the model's type.
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    for module in model.modules():
        if type(module).__name__.endswith("RotaryEmbedding"):
            module.__init__(module.config)
        if hasattr(module, "scalar_embed_scale"):
            module.embed_scale = torch.tensor(module.scalar_embed_scale, dtype=torch.float64)
    return model


@torch.no_grad()
def golden(model, ids):
    """Returns the tensors of a golden file for the ids of one text."""
    batch = torch.tensor([ids])
    seen = model(batch, output_attentions=True, output_hidden_states=True)
    decoder = getattr(model.base_model, "decoder", None)
    if getattr(decoder, "project_out", None):
        decoder.project_out = None  # OPT-350M's last state is the one before it
    states = list(seen.hidden_states[:-1]) + [model.base_model(batch).last_hidden_state]
    tensors = {"ids": batch[0], "hidden": torch.cat(states), "weights": torch.cat(seen.attentions)}
    logits = seen.get("logits", seen.get("prediction_logits"))
    if logits is not None and logits.shape == (1, len(ids), model.config.get_text_config().vocab_size):
        tensors["logits"] = logits[0]
    if type(model).__name__.endswith("ForSequenceClassification"):
        tensors["logits"] = logits[0]
    return {name: value.contiguous().clone() for name, value in tensors.items()}


def main(directory, text, out):
    if (pathlib.Path(directory) / "tokenizer.json").exists():
        ids = transformers.AutoTokenizer.from_pretrained(directory)(text)["input_ids"]
    else:
        ids = [int(number) for number in text.split(",")]
    metadata = {"text": text, "transformers": transformers.__version__}
    save_file(golden(load(directory), ids), out, metadata)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
