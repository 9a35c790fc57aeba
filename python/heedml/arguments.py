"""Says which argument of a call is wrong. The binding library lists the types of all parameters instead."""

import ast
import difflib
import re

# Keywords of PyTorch and NumPy, and those in their place here: the first that a function has.
_KEYWORDS = {"dim": ("axis", "axes", "d"), "dims": ("axes", "axis"), "keepdims": ("keepdim",), "num_embeddings": ("count",),
             "embedding_dim": ("d",), "embed_dim": ("d_model",), "nhead": ("heads",), "other": ("b",), "input": ("x", "logits"),
             "target": ("targets", "labels"), "min": ("low",), "max": ("high",)}
# Keywords that functions here do not have, and what to write.
_REMEDIES = {"ceil_mode": "for windows beyond the end of x, pad it first: x.pad(-1, 0, count, value)"}
_HINTS = {"Tensor": "heedml.tensor(value) makes one", "Scope": "layers take a scope first: scope = heedml.Scope(seed=1)",
          "Parameters": "scope.parameters of the Scope that the layers are made in"}
_LIKE = {"int": {"float"}, "bool": {"float"}, "NoneType": {"None"}, "range": {"Sequence", "Iterable"},
         "list": {"Sequence", "Iterable"}, "tuple": {"Sequence", "Iterable"}, "ndarray": {"Sequence"}, "dict": {"Mapping"},
         "str": {"Path", "PathLike", "Literal", "DTypeLike"}}
_SPECIAL = {"__getitem__": "[]", "__setitem__": "[] = "}
_PLAIN = {"Tensor", "torch.Tensor", "Scope", "Random", "bool", "int", "float", "str", "NoneType", "list", "tuple", "dict", "ndarray",
          "complex", "bytes", "set"}  # types that only a parameter of their name, or one of _LIKE, takes


def _short(text: str) -> str:
    return re.sub(r"\b(?:heedml\._core|heedml|collections\.abc|typing|numpy\.typing|numpy|builtins)\.", "",
                  text.replace("| None | None", "| None"))


class _Signature:
    """A function as the message shows it: `sum(x: heedml._core.Tensor, keepdim: bool = False) -> heedml._core.Tensor`."""

    def __init__(self, text: str, first: str) -> None:
        function = ast.parse(f"def {text}: ...").body[0]
        assert isinstance(function, ast.FunctionDef)
        self.name, arguments = function.name, function.args
        positional = arguments.posonlyargs + arguments.args
        defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults) + list(arguments.kw_defaults)
        self.parameters = {a.arg: (a.annotation, d) for a, d in zip(positional + arguments.kwonlyargs, defaults)}
        self.positional = [a.arg for a in positional]
        self.takes_more, self.takes_keywords = arguments.vararg is not None, arguments.kwarg is not None
        if self.name == "__init__":
            self.name = first.rsplit(".", 1)[-1]
        if self.name in _SPECIAL:
            self.name = f"{first.rsplit('.', 1)[-1]}{_SPECIAL[self.name]}"
        self.name = self.name.strip("_")  # a function of Python calls _name

    def __str__(self) -> str:
        shown = [name if default is None else f"{name}={ast.unparse(default)}"
                 for name, (_, default) in self.parameters.items() if name != "self"]
        if len(self.positional) < len(self.parameters):
            shown.insert(len(self.positional) - ("self" in self.parameters), "*")
        if "[]" in self.name:
            return self.name.replace("[]", f"[{shown[0]}]") + "".join(shown[1:])
        return f"{self.name}({', '.join(shown + ['...'] * (self.takes_more or self.takes_keywords))})"

    def _takes(self, name: str, kind: str) -> bool:
        annotation = self.parameters[name][0]
        is_ours = kind.startswith("heedml._core.")
        kind = kind if kind.startswith("torch.") else kind.rsplit(".", 1)[-1]
        if annotation is None:
            return True
        taken = {part.rsplit(".", 1)[-1] for part in re.findall(r"[\w.]+", ast.unparse(annotation))}
        return bool(taken & ({"Any", "object", "ArrayLike", kind} | _LIKE.get(kind, set()))) or not (is_ours or kind in _PLAIN)

    def problems(self, types: list[str], keywords: dict[str, str]) -> list[str]:
        """Returns what is wrong with a call, a sentence each."""
        found = []
        given = dict(zip(self.positional, types))
        if len(types) > len(self.positional) and not self.takes_more:
            is_method = "self" in self.parameters
            found.append(f"expected at most {len(self.positional) - is_method} arguments without a name, got {len(types) - is_method}")
        for name, kind in keywords.items():
            if name in given:
                found.append(f"{name} is given twice")
            elif name in self.parameters:
                given[name] = kind
            elif not self.takes_keywords:
                close = [other for other in _KEYWORDS.get(name, ()) if other in self.parameters]
                close += difflib.get_close_matches(name, self.parameters, 1)
                remedy = _REMEDIES.get(name, f"did you mean {close[0]}?" if close else "")
                found.append(f"no argument is called {name}" + (f"; {remedy}" if remedy else ""))
        for name, kind in given.items():
            if not self._takes(name, kind):
                expected = _short(ast.unparse(self.parameters[name][0] or ast.Constant("")))
                hint = next((hint for part, hint in _HINTS.items() if part in expected and kind != "NoneType"), "")
                found.append(f"{name}: expected {expected}, got {_short(kind)}" + (f" ({hint})" if hint else ""))
        found += [f"{name} is missing" for name, (_, default) in self.parameters.items() if default is None and name not in given]
        return found


def explain(text: str) -> str | None:
    """Returns a message in place of the binding library's, or None if it is of another kind."""
    signatures = re.findall(r"^    \d+\. (.*)$", text, re.MULTILINE)
    invoked = re.search(r"^Invoked with types: (.*?)(?:,? ?kwargs = \{ (.*) \})?$", text, re.MULTILINE)
    if not signatures or not invoked:
        return None
    types = [name for name in invoked[1].split(", ") if name]
    keywords = dict(pair.split(": ", 1) for pair in (invoked[2] or "").split(", ") if pair)
    try:
        functions = [_Signature(signature, types[0] if types else "") for signature in signatures]
    except SyntaxError:
        return None
    problems, function = min(((f.problems(types, keywords), f) for f in functions), key=lambda found: (not found[0], len(found[0])))
    usage = " or ".join(dict.fromkeys(map(str, functions)))
    if not problems:  # an element has another type, or a number is out of range
        given = types["self" in function.parameters:] + list(keywords.values())
        problems = [f"a value in the arguments ({', '.join(map(_short, given))}) is of another type or out of range"]
        texts = any("str" in ast.unparse(annotation) for annotation, _ in function.parameters.values() if annotation)
        if "str" in given or texts and {"list", "tuple"} & set(given):
            problems[0] += ", or a text holds half of a surrogate pair, such as '\\ud800'"
    text = "; ".join(problems)
    return f"{function.name.removesuffix(' = ')}: {text}{'' if text.endswith('?') else '.'} Usage: {usage}"
