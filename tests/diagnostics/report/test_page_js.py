"""The report in headless Chromium: choosing topics, the slider, the keyboard, phones, and light and dark.

Driven over chromedriver by its wire protocol (W3C WebDriver), which takes a few lines and no package. Where Chromium or
chromedriver is not installed, the tests are skipped.
"""

import contextlib
import json
import math
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

import ppl_topics as pt
from ppl_topics.diagnostics.quality import relevance
from ppl_topics.results.mean_topics import mean_topics

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium or Chrome is installed"),
    pytest.mark.skipif(DRIVER is None, reason="no chromedriver is installed"),
]

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015",
        "Home": "\ue011", "End": "\ue010"}  # fmt: skip


class Browser:
    """A page in Chromium."""

    def __init__(self, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([DRIVER, f"--port={self.port}"], **quiet)
        self.session = ""
        try:
            self._wait()
            options = {"binary": CHROMIUM, "args": [*FLAGS.split(), f"--user-data-dir={folder}"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            found = self.call("POST", "session", {"capabilities": {"alwaysMatch": wanted}}, session=False)
        except BaseException:
            self.close()
            raise
        self.session = found["sessionId"]

    def _wait(self):
        for _ in range(300):
            with contextlib.suppress(OSError):
                if self.call("GET", "status", session=False)["ready"]:
                    return
            time.sleep(0.1)
        raise RuntimeError("chromedriver does not answer")

    def call(self, method, path, body=None, session=True):
        place = f"http://127.0.0.1:{self.port}/" + (f"session/{self.session}/" if session else "") + path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(place, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(json.load(error)["value"]["message"]) from None

    def close(self):
        with contextlib.suppress(OSError, AssertionError):
            if self.session:
                self.call("DELETE", "", session=True)
        self.process.terminate()
        self.process.wait(30)

    def open(self, path, fragment=""):
        # Through a blank page, so that it is loaded again.
        self.call("POST", "url", {"url": "about:blank"})
        self.call("POST", "url", {"url": path.as_uri() + fragment})

    def run(self, script, *arguments):
        return self.call("POST", "execute/sync", {"script": script, "args": list(arguments)})

    def click(self, selector):
        element = self.call("POST", "element", {"using": "css selector", "value": selector})[ELEMENT]
        self.call("POST", f"element/{element}/click", {})

    def press(self, *keys):
        for key in keys:
            steps = [{"type": kind, "value": KEYS.get(key, key)} for kind in ("keyDown", "keyUp")]
            self.call("POST", "actions", {"actions": [{"type": "key", "id": "keys", "actions": steps}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def show(self, width, height=800, *, dark=False, mobile=False):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.tool("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.tool("Emulation.setEmulatedMedia", features=[scheme])

    def tool(self, command, **parameters):
        return self.call("POST", "goog/cdp/execute", {"cmd": command, "params": parameters})


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(3)
    words = np.array([f"word{i:02d}" for i in range(76)] + ["<script>alert(1)</script>", "it's", "naïve😀", "שלום"])
    topics = rng.dirichlet(np.full(len(words), 0.1), size=4)
    tokens = [[str(w) for w in rng.choice(words, 25, p=topics[d % 4])] for d in range(60)]
    corpus = pt.Corpus.from_tokens(tokens, labels=[f"class {d % 4 // 2}" for d in range(60)])
    options = {"draws": 10, "warmup": 20, "chains": 2, "seed": 1, "threads": 1, "progress": False}
    return pt.sample("medlda", corpus, topics=5, **options)


@pytest.fixture(scope="module")
def page(fit, tmp_path_factory):
    return fit.report(tmp_path_factory.mktemp("page") / "report.html", chain=0)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("chromium"))
    yield found
    found.close()


@pytest.fixture
def opened(browser, page):
    """The page, open; at the end it has logged nothing, and asked for nothing."""
    browser.show(1280)
    browser.open(page)
    yield browser
    assert browser.call("POST", "se/log", {"type": "browser"}) == []
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return document.scripts.length") == 2


def shares(fit):
    return fit.posterior["topic_share"].sel(chain=0).mean("draw").values


def chosen(browser):
    """Topics that the map, the list and the heading show as chosen."""
    found = browser.run(
        "return [...document.querySelectorAll('[role=option][aria-selected=true]')].map((e) => e.dataset.topic)"
    )
    return {*map(int, found), int(browser.text("#topic-name").split()[1])}


def test_the_largest_topic_comes_first_and_a_click_chooses_another(opened, fit):
    largest, smallest = int(shares(fit).argmax()), int(shares(fit).argmin())
    assert chosen(opened) == {largest}
    opened.click(f".map [data-topic='{smallest}']")
    assert chosen(opened) == {smallest}
    assert opened.run("return location.hash") == f"#topic-0-{smallest}"
    opened.click(f".topic-list [data-topic='{largest}']")
    assert chosen(opened) == {largest}
    opened.click("#next")
    assert chosen(opened) == {(largest + 1) % 5}
    opened.click("#previous")
    assert chosen(opened) == {largest}
    assert len(opened.texts("#documents li")) == 6


def test_the_slider_shows_the_most_relevant_words_for_any_lambda(opened, fit):
    constants = fit.groups["constant_data"]
    phi, counts = mean_topics(fit.groups, 0).values, constants["word_count"].values
    place = {str(word): i for i, word in enumerate(constants["word"].values)}
    for weight in (0.0, 0.01, 0.33, 0.6, 0.99, 1.0):
        opened.run(
            "const e = document.querySelector('#lambda'); e.value = arguments[0];"
            "e.dispatchEvent(new Event('input', {bubbles: true}))",
            str(weight),
        )
        assert opened.text("#lambda-value") == f"{weight:.2f}"
        (topic,) = chosen(opened)
        scores = relevance(phi, counts, weight=weight)[topic]
        shown = scores[[place[word] for word in opened.texts("#words tbody th")]]
        assert len(shown) == 30
        # To the five digits that the page holds of phi.
        np.testing.assert_allclose(shown, np.sort(scores)[::-1][:30], atol=2e-4)
    counted = opened.texts("#words tbody td.n")
    assert all(int(part.split(" of ")[1]) > 0 for part in counted)


def test_keys_alone_reach_everything(opened, fit):
    opened.press("Tab")
    assert opened.run("return document.activeElement.className") == "skip"
    opened.press("Enter", "Tab")
    # The list and the map are one stop each, at the chosen topic.
    stops = opened.run(
        "return [...document.querySelectorAll('#browser [role=option]')].filter((e) => e.tabIndex === 0)"
        ".map((e) => e.dataset.topic)"
    )
    (now,) = chosen(opened)
    assert stops == [str(now)] * 2
    opened.run(f"document.querySelector('.map [data-topic=\"{now}\"]').focus()")
    for key, step in (("Right", 1), ("Down", 1), ("Left", -1), ("Up", -1), ("Up", -1)):
        opened.press(key)
        now = (now + step) % 5
        assert chosen(opened) == {now}
        assert opened.run("return document.activeElement.dataset.topic") == str(now)
        assert opened.run("return document.activeElement.matches(':focus-visible')")
    opened.press("Home")
    assert chosen(opened) == {0}
    order = np.argsort(-shares(fit), kind="stable").tolist()
    opened.run("document.querySelector('.topic-list [aria-selected=true]').focus()")
    opened.press("End")
    assert chosen(opened) == {order[-1]}
    opened.press("Up")
    assert chosen(opened) == {order[-2]}
    opened.run("document.querySelector('#lambda').focus()")
    opened.press("Left")
    assert opened.text("#lambda-value") == "0.59"
    # Every stop can be seen to be one, and has a name.
    unnamed = opened.run(
        "return [...document.querySelectorAll('button, input, select, [tabindex=\"0\"]')].filter((e) => "
        "!(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"
    )
    assert unnamed == 0


def test_search_leaves_the_topics_that_have_the_word(opened):
    data = json.loads(opened.text("#data"))
    topics = data["views"][0]["topics"]
    word = data["words"][topics[2]["words"][0]]
    having = {k for k, topic in enumerate(topics) if word in {data["words"][w] for w in topic["words"]}}
    opened.run("document.querySelector('#search').focus()")
    opened.press(*word)
    listed = "return [...document.querySelectorAll('.topic-list li:not([hidden])')].map((e) => e.dataset.topic)"
    assert set(map(int, opened.run(listed))) == having
    assert opened.text("#found").startswith(f"{len(having)} of 5")
    opened.run("const e = document.querySelector('#search'); e.value = '3'; e.dispatchEvent(new Event('input'))")
    assert "3" in opened.run(listed)
    opened.run("const e = document.querySelector('#search'); e.value = 'zzz'; e.dispatchEvent(new Event('input'))")
    assert opened.run(listed) == []


def test_links_and_addresses_lead_to_topics(opened, page):
    opened.click("#quality .topic-link")
    topic = opened.text("#quality tbody .topic-link")
    assert chosen(opened) == {int(topic)}
    opened.open(page, "#topic-0-3")
    assert chosen(opened) == {3}
    opened.open(page, "#topic-9-99")
    assert len(chosen(opened)) == 1


def test_tables_are_sorted_by_their_headings(opened):
    def column(n):
        cells = opened.run(
            "return [...document.querySelectorAll('#quality tbody tr')].map((r) => r.cells[arguments[0]].dataset.v)", n
        )
        return [float(cell) for cell in cells]

    assert column(1) == sorted(column(1), reverse=True)
    opened.click("#quality thead th:nth-child(1) button")
    assert column(0) == [4, 3, 2, 1, 0]
    opened.click("#quality thead th:nth-child(1) button")
    assert column(0) == [0, 1, 2, 3, 4]
    assert opened.run("return document.querySelector('#quality thead th').getAttribute('aria-sort')") == "ascending"


def test_light_and_dark(opened, page):
    def contrast():
        colours = "return ['color', 'backgroundColor'].map((c) => getComputedStyle(document.body)[c])"
        levels = []
        for colour in opened.run(colours):
            parts = [int(part) / 255 for part in colour[4:-1].split(",")]
            linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
            levels.append(float(np.dot(linear, [0.2126, 0.7152, 0.0722])))
        return levels[0] > levels[1], (max(levels) + 0.05) / (min(levels) + 0.05)

    light, by = contrast()
    assert not light
    assert by > 7
    opened.click("#theme")
    light, by = contrast()
    assert light
    assert by > 7
    opened.click("#theme")
    opened.show(1280, dark=True)
    # What was chosen stays, whatever the system does.
    assert not contrast()[0]
    opened.run("localStorage.clear()")
    opened.open(page)
    assert contrast()[0]


@pytest.mark.parametrize("width", [320, 360, 375, 768])
def test_a_phone_scrolls_down_only(browser, page, width):
    browser.show(width, 740, mobile=True)
    browser.open(page)
    wide = "return [document.documentElement.scrollWidth, window.innerWidth]"
    assert browser.run(wide) == [width, width]
    browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert browser.run(wide) == [width, width]
    # What is wider than the screen scrolls in a box of its own, which keys can reach.
    boxes = browser.run(
        "return [...document.querySelectorAll('main *')].filter((e) => e.scrollWidth > e.clientWidth + 1 && "
        "['auto', 'scroll'].includes(getComputedStyle(e).overflowX)).map((e) => e.tabIndex)"
    )
    assert set(boxes) <= {0}


def test_the_page_opens_quickly(opened):
    took = opened.run("return performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert math.isfinite(took)
    assert took < 10_000


def test_topics_of_each_response(browser, tmp_path):
    texts, labels = ["goal match goal team", "vote law vote law", "sea wind sea"] * 5, ["sport", "law", "weather"] * 5
    corpus = pt.Corpus.from_texts(texts, labels=labels)
    options = {"draws": 4, "warmup": 4, "chains": 1, "seed": 1, "threads": 1, "progress": False}
    apart = pt.sample("medlda_one_vs_all", corpus, topics=2, **options)
    browser.show(1280)
    browser.open(apart.report(tmp_path / "apart.html"))
    browser.run("const e = document.querySelector('#view'); e.value = '2'; e.dispatchEvent(new Event('change'))")
    assert browser.text("#topic-name").endswith("of weather")
    maps = "return [...document.querySelectorAll('.map:not([hidden])')].map((e) => e.id)"
    assert browser.run(maps) == ["map-2"]
    # The links of a response's coefficients lead to its own topics.
    browser.run("document.querySelectorAll('#responses .topic-link')[0].click()")
    assert browser.text("#topic-name").endswith("of distribution")
    assert browser.call("POST", "se/log", {"type": "browser"}) == []
