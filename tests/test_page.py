"""The page in a real browser, from a file: no error, no request to a host, a filter that works, links that lead somewhere."""

import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from evidence_of import STUDIES, evidence_of
from records_of import plan_of, planned
from test_paper import written

from tickdisk.config import load_config
from tickdisk.project import write_plan
from tickdisk.report import LIMITS, write_page
from tickdisk.report.publish import other_host

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = shutil.which("chromium")
browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium, which `make test` installs where it is packaged")
SCRIPT = """<script>
const told = {};
const shown = () => [...document.querySelectorAll("#claim-table tbody tr")].filter(row => row.offsetParent !== null).length;
const set = (id, value) => { const box = document.getElementById(id); box.value = value; box.dispatchEvent(new Event("input")); };
addEventListener("load", () => {
  told.all = shown();
  set("verdict", "kept"); told.kept = shown(); set("verdict", "");
  set("search", "no such words"); told.none = shown(); told.said = document.getElementById("count").textContent;
  set("search", "ratio"); told.unfolded = document.querySelectorAll("#claim-table details[open]").length;
  set("search", "atio"); told.fragment = shown();
  set("search", ""); told.again = shown();
  set("source", document.getElementById("source").options[1]?.value ?? ""); told.published = shown(); set("source", "");
  document.querySelector("a[data-experiment=switchback]").click(); told.of_card = shown();
  told.counted = document.getElementById("count").textContent; set("experiment", "");
  document.querySelector("a[href='#terms']").click(); told.terms = document.getElementById("terms").open;
  const bottom = id => document.querySelector(id).getBoundingClientRect().bottom + scrollY;
  told.answer = bottom(".lead"); told.picture = bottom(".bars");
  told.wide = document.documentElement.scrollWidth; told.inner = innerWidth;
  const focusable = document.querySelectorAll("a[href], input, select, summary");
  told.asked = performance.getEntriesByType("resource").map(each => each.name).filter(name => !/^(file|data):/.test(name));
  told.keyboard = [...focusable].every(each => each.tabIndex >= 0);
  axe.run().then(found => {
    const said = (rule, node) => `${rule.id}: ${node.target} ${node.any[0]?.message ?? ""}`;
    told.violations = found.violations.flatMap(rule => rule.nodes.map(node => said(rule, node)));
    told.passed = found.passes.length; told.dark = matchMedia("(prefers-color-scheme: dark)").matches;
    parent.postMessage(JSON.stringify(told), "*");
  });
});
</script>"""
FRAME = """<!doctype html><body style="margin: 0">
<iframe src="looked_at.html" style="border: 0; width: {width}px; height: {height}px"></iframe>
<script>addEventListener("message", event => {{
  document.body.append(Object.assign(document.createElement("pre"), {{id: "told", textContent: event.data}}));
}});</script>"""
"""A page of its own around the page, because a window is never narrower than 500 px."""
AXE = ROOT / "build/validator/axe_playwright_python/axe.min.js"


class Links(HTMLParser):
    """Collects what a page leads to and what it has places for."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.links += [value for name in ("href", "src") if (value := values.get(name))]
        self.places |= {values["id"] or ""} if "id" in values else set()


def page_of(folder: Path, monkeypatch: pytest.MonkeyPatch, study: str | None = None, **verdicts: object) -> Path:
    """Writes the page of a run, or of one `study` alone, with all files that it can lead to."""
    written(folder, evidence_of(**verdicts))  # type: ignore[arg-type]
    results = folder / "results"
    write_plan(results / "plan.json", plan_of(load_config().model_copy(update={"study": study}), [planned("00", "switchback")]))
    monkeypatch.chdir(folder)
    for document in LIMITS:
        (results / f"{document}.pdf").write_bytes(b"%PDF")
    for name in STUDIES:
        (results / "notebooks").mkdir(exist_ok=True)
        for suffix in ("html", "ipynb"):
            (results / f"notebooks/{name}.{suffix}").touch()
    write_page(folder / "workflow/paper/page.html.j2", results, results / "index.html")
    return results / "index.html"


def test_every_link_leads_somewhere_and_nothing_is_asked_of_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(tmp_path, monkeypatch)
    text = page.read_text()
    assert other_host(text) is None
    found = Links()
    found.feed(text)
    for link in found.links:
        if link.startswith("#"):
            assert link[1:] in found.places
        elif not link.startswith("data:"):
            assert (page.parent / link).exists(), link


def test_what_is_missing_is_said_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page_of(tmp_path, monkeypatch, without=["switchback"]).read_text()
    assert "Parts of this run are missing" in text
    assert "The experiment that decides which disk is good enough did not run" in text


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_study_that_runs_alone_is_named_instead_of_all_others(
    is_whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = ["accesses", "replay"] if is_whole else ["accesses", "switchback"]
    text = page_of(tmp_path, monkeypatch, study="switchback", without=without).read_text()
    assert "This run was asked for one study alone, switchback." in text
    assert ("<strong>It is missing</strong>" in text) == (not is_whole)
    assert "Parts of this run are missing" not in text


def look(page: Path, width: int, height: int, folder: Path, *, dark: bool = False) -> tuple[dict[str, Any], str]:
    """Returns what the script saw in a frame of this size, and what the console said."""
    assert AXE.is_file(), "run `python envs/setup.py --test`, which installs axe"
    copy = page.with_name("looked_at.html")
    copy.write_text(page.read_text().replace("</body>", f"<script>{AXE.read_text()}</script>{SCRIPT}</body>"))
    page.with_name("frame.html").write_text(FRAME.format(width=width, height=height))
    words = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--window-size={max(width, 500)},{height}",
    ]
    words += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000", "--dump-dom"]
    words += ["--force-dark-mode"] if dark else []
    words += ["--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-sync"]
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, *words, page.with_name("frame.html").as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout)
    assert told is not None, done.stderr[-2000:]
    return json.loads(unescape(told[1])), "\n".join(re.findall(r".*CONSOLE.*", done.stderr))


@browser
def test_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of(tmp_path, monkeypatch)
    told, console = look(page, 1280, 800, tmp_path)
    assert console == ""
    assert told["asked"] == []
    claims = len(json.loads((page.parent / "claims.json").read_text()))
    assert (told["all"], told["again"], told["none"], told["said"]) == (claims, claims, 0, "No claim has all of this.")
    assert told["unfolded"] > 0, "the word stands in evidence alone"
    assert told["fragment"] == 0, "words are searched from their beginning"
    of_card = sum(claim["id"].startswith("switchback.") for claim in json.loads((page.parent / "claims.json").read_text()))
    assert (told["of_card"], told["counted"]) == (of_card, f"{of_card} of {claims} claims")
    assert 0 < told["kept"] < claims
    assert told["keyboard"]
    assert told["terms"], "the glossary is one click away"
    # The answer and its picture are there without scrolling.
    assert told["answer"] < told["picture"] < 800
    phone, console = look(page, 390, 844, tmp_path)
    assert console == ""
    assert phone["wide"] <= phone["inner"] == 390
    assert phone["picture"] < 844
    at_night, _ = look(page, 1280, 800, tmp_path, dark=True)
    assert at_night["dark"]
    for seen in (told, phone, at_night):
        assert seen["violations"] == []
        assert seen["passed"] > 20, "axe has looked at the page"
