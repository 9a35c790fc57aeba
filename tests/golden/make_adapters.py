"""Writes adapters (LoRA) as `peft` saves them, over the models of make_hugging_face.py, and their logits: run `python3
tests/golden/make_adapters.py` with torch, transformers and peft installed. It writes tests/golden/adapters/NAME/, which is part of the tree.
With a directory of heed's export as argument, and the directory of its base model, it prints the logits that peft computes with it.
"""

import json
import pathlib
import shutil
import sys

import peft
import torch
import transformers
from safetensors.torch import save_file

here = pathlib.Path(__file__).parent.resolve()
sys.path.insert(0, str(here.parent.parent / "examples"))
ids = [3, 1, 7, 7, 2, 9, 4]

# name: (base model, class of transformers, options of peft). gpt2 and gpt_neox hold Q, K and V in one matrix.
adapters = {
    "llama": ("llama", "AutoModelForCausalLM", {"target_modules": ["q_proj", "v_proj", "down_proj"], "r": 3, "lora_alpha": 6}),
    "llama_layer": ("llama", "AutoModelForCausalLM",
                    {"target_modules": ["q_proj", "o_proj"], "layers_to_transform": [1], "r": 2, "lora_alpha": 5}),
    "gpt2": ("gpt2", "AutoModelForCausalLM",
             {"target_modules": ["c_attn", "c_fc"], "r": 4, "lora_alpha": 3, "use_rslora": True, "fan_in_fan_out": True}),
    "gpt_neox": ("gpt_neox", "AutoModelForCausalLM", {"target_modules": ["query_key_value", "dense"], "r": 2, "lora_alpha": 4}),
    "bert": ("bert", "AutoModelForMaskedLM", {"target_modules": ["query", "value"], "r": 2, "lora_alpha": 7}),
}


def opened(kind, base, adapter):
    model = getattr(transformers, kind).from_pretrained(base, dtype=torch.float64, attn_implementation="eager")
    return peft.PeftModel.from_pretrained(model, adapter).double().eval()


def logits(model):
    """Returns the logits in float64, after golden.load() has changed transformers."""
    for module in model.modules():
        if type(module).__name__.endswith("RotaryEmbedding"):
            module.__init__(module.config)
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids])).logits[0]


def make(name):
    base, kind, options = adapters[name]
    torch.manual_seed(5)
    model = getattr(transformers, kind).from_pretrained(here / "hugging_face" / base)
    model = peft.get_peft_model(model, peft.LoraConfig(**options))
    for parameter_name, parameter in model.named_parameters():
        if "lora_B" in parameter_name:
            torch.nn.init.normal_(parameter, std=0.5)
    out = here / "adapters" / name
    shutil.rmtree(out, ignore_errors=True)
    model.save_pretrained(out)
    (out / "README.md").unlink()
    config = json.loads((out / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = f"../../hugging_face/{base}"  # from this directory
    (out / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


import golden

if len(sys.argv) > 1:
    model = opened("AutoModelForCausalLM", sys.argv[2], sys.argv[1])
    golden.load(sys.argv[2])
    print(logits(model).flatten().tolist())
else:
    for name in adapters:
        make(name)
    models = {name: opened(kind, here / "hugging_face" / base, here / "adapters" / name) for name, (base, kind, _) in adapters.items()}
    golden.load(here / "hugging_face" / "llama")  # lets transformers compute all in float64, but no longer open files
    for name, model in models.items():
        save_file({"logits": logits(model)}, here / "adapters" / name / "golden.safetensors")
