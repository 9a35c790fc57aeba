"""The page in a notebook: in a frame, where the page or the kernel answers typed texts."""

import contextlib
import http.server
import json
import pathlib
import threading

import heedml
import numpy
import pytest
from frames import browser  # noqa: F401
from heedml import page as heedml_page

TEXT = "abcab"
TYPED = "ghig"
# Types a text into the view "Try it", and gives the answer to it.
TYPE = """(() => {
  chooseTab(views.indexOf(tryView));
  draw();
  const field = document.querySelector('#main textarea');
  field.value = '%s';
  field.dispatchEvent(new Event('input'));
  return true;
})()"""
ANSWERED = "state.own?.tokens.length === %d && shownNow().live && [shownNow().predicted, shownNow().live.reading.answers(shownNow().query, 1)[0].probability]"
# A notebook, as far as a widget sees it: its messages go to the kernel and back.
NOTEBOOK = """<!doctype html><meta charset="utf-8"><div id="cell"></div><script type="module">
import widget from './widget.js';
const traits = await (await fetch('traits')).json(), listeners = new Set();
const model = {
  get: (name) => traits[name],
  on: (event, listener) => listeners.add(listener),
  off: (event, listener) => listeners.delete(listener),
  async send(message) {
    const reply = await (await fetch('ask', {method: 'POST', body: JSON.stringify(message)})).json();
    listeners.forEach((listener) => listener(reply));
  },
};
widget.render({model, el: document.getElementById('cell')});
</script>"""


def model_of_width(d_model):
    return heedml.Model(heedml.language_model(heedml.gpt2(1, 2, d_model, max_length=16)), list("abcdefghij"), seed=3, split="characters")


class Sent:
    """A widget whose messages stay here."""

    def __init__(self):
        self.messages = []

    def send(self, message):
        self.messages.append(message)


def asked(page, what, body=""):
    widget = Sent()
    page._reply(widget, {"view": "a", "id": 5, "what": what, "body": body}, [])
    (message,) = widget.messages
    assert (message.pop("view"), message.pop("id")) == ("a", 5)
    return message


@contextlib.contextmanager
def notebook(page, questions):
    class Handler(http.server.BaseHTTPRequestHandler):
        def reply(self, kind, text):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def do_GET(self):  # noqa: N802
            if self.path == "/widget.js":
                self.reply("text/javascript", heedml_page._MODULE)
            elif self.path == "/traits":
                self.reply("application/json", json.dumps({"content": page.content, "height": page.height}))
            else:
                self.reply("text/html", NOTEBOOK)

        def do_POST(self):  # noqa: N802
            question, widget = json.loads(self.rfile.read(int(self.headers["Content-Length"]))), Sent()
            questions.append(question["what"])
            page._reply(widget, question, [])
            self.reply("application/json", json.dumps(widget.messages[0]))

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def probability_of(model, text):
    logits = model.logits(model.batch([text])).numpy()[0, -1]
    shares = numpy.exp(logits - logits.max())
    return shares.max() / shares.sum()


def test_a_saved_notebook_answers_what_is_typed_with_the_model_in_the_page(browser, tmp_path):  # noqa: F811
    model = model_of_width(16)
    page = model.page(TEXT)
    assert page.holds_model and list(page._repr_mimebundle_()[0]) == ["text/plain", "text/html"]
    file = pathlib.Path(tmp_path / "saved.html")
    file.write_text(f"<!doctype html><meta charset=utf-8>{page._repr_html_()}", encoding="utf-8")
    browser.open(file.as_uri())
    browser.wait_for("shownNow().live && location.hash.includes('view=sentence')")
    assert browser.run(TYPE % TYPED)
    word, probability = browser.wait_for(ANSWERED % 4)
    assert word in model.vocabulary and probability == pytest.approx(probability_of(model, TYPED), abs=1e-5)
    browser.wait_for("location.hash.includes('text=')")
    browser.run("setTimeout(switchLanguage)")
    browser.wait_for("language === 'zh' && state.own?.typed === '%s'" % TYPED)
    assert browser.complaints == []


def test_the_kernel_answers_for_a_model_that_no_page_holds(browser):  # noqa: F811
    model, questions = model_of_width(320), []
    page = model.page(TEXT)
    assert not page.holds_model
    with notebook(page, questions) as address:
        browser.open(address)
        browser.wait_for("content.runs[0].served && shownNow().live")
        assert browser.run(TYPE % TYPED)
        word, probability = browser.wait_for(ANSWERED % 4)
        assert probability == pytest.approx(probability_of(model, TYPED), abs=1e-6)
        for parameter in model.parameters.values():  # the kernel's model as it is now
            parameter.copy_from(parameter.numpy() * 1.5)
        assert browser.run(TYPE % (TYPED + "h"))
        word, probability = browser.wait_for(ANSWERED % 5)
        assert probability == pytest.approx(probability_of(model, TYPED + "h"), abs=1e-6)
    assert questions[0] == "description" and {"understand", "read"} <= set(questions) and browser.complaints == []


def test_questions_of_a_page_have_answers_or_a_problem():
    model = model_of_width(320)
    page = model.page(TEXT)
    assert asked(page, "description")["served"]["canContinue"] is True
    text = asked(page, "understand", json.dumps({"text": TYPED}))["answer"]
    assert text["pieces"] == list(TYPED)
    read = asked(page, "read", json.dumps({"text": text, "removed": ["0.1"]}))["answer"]
    assert len(read["attention"]) == 2 and read["answers"][3][0][1] != read["answers"][3][0][2]
    assert "expected understand" in asked(page, "undertsand", json.dumps({"text": text}))["answer"]["problem"]
    for body in ("", "[", "[1]", "{}", '{"text": {"pieces": [1], "query": 0}}'):
        assert asked(page, "read", body)["answer"]["problem"]


def test_a_widget_is_made_where_anywidget_is_installed():
    page = model_of_width(320).page(TEXT)
    with pytest.raises(heedml.Error, match="has no model"):
        heedml.Page("").widget()
    pytest.importorskip("anywidget")
    widget = page.widget()
    assert widget.content == page.content and widget.height == page.height
    bundle, _ = page._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle and "<iframe" in bundle["text/html"]
