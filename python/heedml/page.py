"""The page of a run or a text, as notebooks show it."""

from __future__ import annotations

import base64
import gzip
import html
import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .errors import Error, library
from .paths import Path, text_of

# Shows the page in a frame, and passes its questions to the kernel and the answers back. Each view of the widget has a name of
# its own, and ignores the answers to others.
_MODULE = """
function render({model, el}) {
  const frame = document.createElement('iframe'), notice = document.createElement('div'), view = String(Math.random());
  const waiting = new Map();  // timers by the id of a question
  const ask = (question) => {
    model.send({...question, view});
    waiting.set(question.id, setTimeout(() => { notice.textContent = 'Waiting for the kernel. If it was restarted, run the cell again.'; }, 3000));
  };
  const give = (answer) => {
    if (answer.view !== view) return;
    clearTimeout(waiting.get(answer.id));
    waiting.delete(answer.id);
    notice.textContent = '';
    frame.contentWindow?.postMessage({heed: answer}, '*');
  };
  const take = ({source, data}) => { if (source === frame.contentWindow && data?.heed) ask(data.heed); };
  frame.sandbox = 'allow-scripts allow-downloads';
  frame.style.cssText = `width: 100%; height: ${model.get('height')}px; border: 1px solid #ccc`;
  frame.onload = () => model.send({what: 'description', body: '', view});
  frame.srcdoc = model.get('content');
  addEventListener('message', take);
  model.on('msg:custom', give);
  el.append(frame, notice);
  return () => {
    removeEventListener('message', take);
    model.off('msg:custom', give);
  };
}
export default {render};
"""

# A document that unpacks the page, which takes a third of the bytes in a saved notebook.
_PACKED = """<!doctype html><meta charset="utf-8"><script>(async () => {
  const bytes = Uint8Array.from(atob('%s'), (letter) => letter.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  document.open();
  document.write(text);
  document.close();
})();</script>"""


@dataclass(frozen=True)
class Page:
    """The page of inspect: one HTML document that works offline.

    Small models run inside it, so it answers as you type, also in a saved notebook. With anywidget installed, a notebook's kernel
    answers for the others, with the model's present parameters.
    """

    content: str = field(repr=False)
    height: int = 720
    answer: Callable[[str, str], str] | None = field(default=None, repr=False, compare=False)

    @property
    def holds_model(self) -> bool:
        """Whether the page computes by itself what is typed into it."""
        begin = self.content.index('id="data">') + len('id="data">')
        data = json.loads(self.content[begin:self.content.index("</script>", begin)])
        return all((run["model"] or {}).get("cuts", False) for run in data["runs"])

    def save(self, path: Path) -> None:
        """Writes the page to a file, for a browser."""
        with open(text_of(path), "w", encoding="utf-8") as file:
            file.write(self.content)

    def widget(self) -> Any:
        """Returns an anywidget that shows the page and answers its questions with the model."""
        if self.answer is None:
            raise Error("widget: this page has no model; model.page() returns one that has")
        anywidget, traitlets = library("anywidget"), library("traitlets")
        traits = {"_esm": _MODULE, "content": traitlets.Unicode(self.content).tag(sync=True),
                  "height": traitlets.Int(self.height).tag(sync=True)}
        widget = type("PageWidget", (anywidget.AnyWidget,), traits)()
        widget.on_msg(self._reply)
        return widget

    def _reply(self, widget: Any, question: dict[str, Any], _: Any) -> None:
        """Sends the answer to a question of a view, {view, id, what, body}, or {served} to the first one."""
        assert self.answer is not None
        try:
            answer = json.loads(self.answer(question["what"], question["body"]))
        except Error as error:
            answer = {"problem": str(error)}
        name = "served" if question["what"] == "description" else "answer"
        widget.send({"view": question["view"], "id": question.get("id"), name: answer})

    def _repr_html_(self) -> str:
        packed = _PACKED % base64.b64encode(gzip.compress(self.content.encode(), mtime=0)).decode()
        return (f'<iframe srcdoc="{html.escape(packed)}" sandbox="allow-scripts allow-downloads" '
                f'style="width: 100%; height: {self.height}px; border: 1px solid #ccc"></iframe>')

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle, metadata = {"text/plain": repr(self), "text/html": self._repr_html_()}, {}
        if self.answer is not None and not self.holds_model and importlib.util.find_spec("anywidget"):
            shown, metadata = self.widget()._repr_mimebundle_()
            bundle = {**shown, **bundle}
        return bundle, metadata
