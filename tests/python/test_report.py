"""The report: its content, its independence from the network, and its display in a browser."""

import csv
import re
import subprocess
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import synthetic
from vazao import figures, report
from vazao.errors import StudyError
from vazao.report import network
from vazao.report.letter import letter
from vazao.report.page import commands
from vazao.scenario import load

pytestmark = pytest.mark.process

VOID = {"meta", "link", "br", "img", "hr", "input", "path", "rect", "circle"}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Report with its figures beside it."""
    folder = tmp_path_factory.mktemp("report")
    store, study = synthetic.store(folder), synthetic.study()
    figures.render(study, store, folder)
    return report.write(study, store, synthetic.FINDINGS, folder)


@pytest.fixture(scope="module")
def html(page: Path) -> str:
    return page.read_text(encoding="utf-8")


class Outline(HTMLParser):
    """Headings, ids and links of a page; checks that every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[int] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if identifier := given.get("id"):
            self.ids.append(identifier)
        if tag == "a" and (target := given.get("href")):
            self.targets.append(target)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_the_page_is_well_formed(html: str) -> None:
    outline = Outline(html)
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.headings[0] == 1
    steps = zip(outline.headings, outline.headings[1:], strict=False)
    assert all(after <= before + 1 for before, after in steps), "a heading level is skipped"


def test_links_lead_somewhere(html: str, page: Path) -> None:
    outline = Outline(html)
    for target in outline.targets:
        if target.startswith("#"):
            assert target[1:] in outline.ids, target
        else:
            assert (page.parent / target).is_file(), target


def test_the_page_is_light_and_needs_nothing_from_outside(html: str) -> None:
    assert len(html.encode()) < 6e6
    body = re.sub(r'<script type="module">.*?</script>', "", html, flags=re.DOTALL)  # libraries name their home pages
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", body))
    assert all("w3.org" in a or "vega.github.io/schema" in a for a in addresses), addresses  # names, never fetched


def test_the_page_says_every_claim_with_its_verdict(html: str) -> None:
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)))
    for result in synthetic.FINDINGS:
        for said in result.claim, result.reported, result.measured, result.explanation:
            assert said.replace("'", "&#39;") in text or said.replace("'", "’") in text or said in text
    assert html.count('class="verdict undecided"') == 3 * 1
    assert html.count('class="verdict reproduced"') == 3 * 5  # at a glance, beside the figure, in the ledger
    assert html.count('class="verdict differs"') == 3 * 3
    assert html.count('class="verdict open"') == 3 * 1


def test_a_number_and_a_changed_criterion_stand_in_claim_and_ledger(html: str) -> None:
    claim = html[html.index('id="claim-gain"') :]
    claim = claim[: claim.index("</section>")]
    assert re.findall(r'<td class="number">([^<]*)</td>', claim) == ["20.8 %", "12 % ± 15 %", "0.58"]
    assert "Criterion: The interval lies above 10.4 %." in claim
    assert "Changed after results were seen; earlier: It reaches 10.4 %. Few runs made it easier." in claim
    ledger = html[html.index('id="ledger"') :]
    assert "time saved: 20.8 %" in ledger
    assert "time saved: 12 % ± 15 % (effect 0.58)" in ledger


def test_each_verdict_has_a_sign_of_its_own_beside_its_colour(html: str) -> None:
    signs = re.findall(r"\.(reproduced|differs|undecided|open)::before \{ content: \"(.)\"; \}", html)
    assert dict(signs).keys() == {"reproduced", "differs", "undecided", "open"}
    assert len({sign for _, sign in signs}) == len(signs)


def test_a_claim_is_told_in_full_once_and_then_by_its_verdicts(tmp_path: Path) -> None:
    text = synthetic.TEXT.replace('finding = ["recovery"]', 'finding = ["recovery", "utilisation-order"]')
    written = report.html(synthetic.study(text), synthetic.store(tmp_path), synthetic.FINDINGS)
    assert written.count('id="claim-utilisation-order"') == 1
    short = written[written.index('class="claim short') :]
    short = short[: short.index("</section>")]
    assert 'href="#claim-utilisation-order"' in short
    assert short.count('class="verdict differs"') == 2
    assert "Vegas stands fifth" not in short


def test_an_explanation_that_all_levels_share_stands_once(tmp_path: Path) -> None:
    why = "Because the numbers are invented."
    findings = [
        replace(result, explanation=why) if result.id == "recovery" else result for result in synthetic.FINDINGS
    ]
    written = report.html(synthetic.study(), synthetic.store(tmp_path), findings)
    assert written[written.index('id="results"') : written.index('id="ledger"')].count(why) == 1


def test_the_author_is_told_each_claim_by_what_came_out(html: str) -> None:
    letter = html[html.index('id="letter"') : html.index('id="summary"')]
    headings = [re.sub(r"\s+", " ", heading) for heading in re.findall(r"<h3>(.*?)</h3>", letter)]
    assert [heading.split(":")[0] for heading in headings] == [
        "What holds", "What does not hold", "What our runs leave open", "What we could not test",
    ]  # fmt: skip
    holds, fails, *_ = re.split(r"<h3>", letter)[1:]
    assert "from 95 % to 52 %" in holds
    assert "from 97 % to 88 % on average" not in holds
    assert "A queue of one bandwidth-delay product hides most of the fall." in fails
    assert "<code>vazao run invented --full</code> runs the full size." in letter
    assert (
        "What was claimed, tested by 668 runs: what was measured, and where and why it differs. ± is half the width of"
        in letter
    )
    assert "Unless brackets say otherwise, the numbers are from 1–5 runs of each cell; a cell is a " in letter


def test_the_letter_tells_what_the_original_claims_where_it_claims_it(tmp_path: Path) -> None:
    text = synthetic.TEXT.replace("\nsource =", '\nclaimed_at = { setting = "historic" }\nsource =', 1)
    text = text.replace('[[finding]]\nid = "recovery"\n', '[[finding]]\nid = "recovery"\nbeyond = true\n', 1)
    study, store = synthetic.study(text), synthetic.store(tmp_path)
    written = report.html(study, store, synthetic.FINDINGS)
    letter = written[written.index('id="letter"') : written.index('id="summary"')]
    told = {one.id for one in synthetic.FINDINGS if one.level in (None, "historic")} - {"recovery"}
    assert set(re.findall(r'href="#claim-([\w-]+)"', letter)) == told
    assert "from 97 % to 88 % on average" not in letter
    assert "Asked beyond the original, and told in the ledger: " in letter
    ledger = written[written.index('id="ledger"') :]
    assert ledger.index("Claims of the original") < ledger.index("Asked beyond the original")


def test_the_letter_says_once_what_would_decide_several_open_claims() -> None:
    study = synthetic.study(
        synthetic.TEXT.replace(
            '[[finding]]\nid = "recovery"\n', '[[finding]]\nid = "recovery"\nif_undecided = "Open."\n', 1
        )
    )
    rulings = [replace(one, verdict="undecided", explanation="It is so. Open: SACK.") for one in synthetic.FINDINGS]
    (quick,), (full,) = (letter(study, rulings, size).paragraphs for size in ("quick", "full"))
    expected = (
        "`vazao run invented --full` runs the full size. Where nothing else is said it has 30 replications, not 5."
    )
    assert quick.note == expected
    assert {line.full for line in quick.lines} == {""}
    assert {line.id: line.why for line in quick.lines if line.why} == {"recovery": "Open: SACK."}
    assert [line.criterion for line in full.lines] == [line.criterion for line in quick.lines]
    assert full.note == "Deciding them may take more replications than the full size has."
    (one,) = letter(study, [one for one in rulings if one.id == "seed"], "quick").paragraphs
    assert (one.note, [line.full for line in one.lines]) == (
        "`vazao run invented --full` runs the full size.", ["In full: 30 replications, not 5."],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("criterion", "asked"),
    [
        ("More than 2 %; contradicted by a cell only as far as one of so many may be.", "Criterion: More than 2 %."),
        ("Both (LIA, OLIA; only in full): less; with 160 more. Nothing is random.",
         "Criterion: Both (LIA, OLIA; only in full): less; with 160 more."),
        ("", ""),
    ],
)  # fmt: skip
def test_a_letter_shows_what_a_criterion_asks_for(criterion: str, asked: str) -> None:
    study = synthetic.study()
    findings = [one.model_copy(update={"criterion": criterion}) for one in study.findings]
    study = study.model_copy(update={"findings": findings})
    open_ones = [replace(one, verdict="undecided") for one in synthetic.FINDINGS]
    (paragraph,) = letter(study, open_ones, "quick").paragraphs
    assert {line.criterion for line in paragraph.lines if line.id in {one.id for one in findings}} == {asked}


def test_a_letter_tells_what_its_study_chooses_and_counts_the_rest(tmp_path: Path) -> None:
    text = synthetic.TEXT.replace("\nsource =", '\nletter = ["recovery"]\nsource =', 1)
    study, store = synthetic.study(text), synthetic.store(tmp_path)
    report.write(study, store, synthetic.FINDINGS, tmp_path)
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    letter = written[written.index('id="letter"') : written.index('id="summary"')]
    assert set(re.findall(r'href="#claim-([\w-]+)"', letter)) == {"recovery"}
    rest = "The ledger has further claims of the original: "
    assert rest in letter
    assert rest in (tmp_path / "letter.tex").read_text(encoding="utf-8")
    beyond = text.replace('[[finding]]\nid = "recovery"\n', '[[finding]]\nid = "recovery"\nbeyond = true\n', 1)
    with pytest.raises(StudyError, match=r"study\.letter\.0: 'recovery' is asked beyond the original"):
        synthetic.study(beyond)
    with pytest.raises(StudyError, match=r"'recovry' is not a finding; did you mean 'recovery'"):
        synthetic.study(text.replace('letter = ["recovery"]', 'letter = ["recovry"]'))


def test_a_paper_takes_letter_ledger_and_sources(tmp_path: Path) -> None:
    study, store = synthetic.study(), synthetic.store(tmp_path)
    report.write(study, store, synthetic.FINDINGS, tmp_path)
    letter, ledger = ((tmp_path / name).read_text(encoding="utf-8") for name in ("letter.tex", "ledger.tex"))
    for text in (letter, ledger):
        plain = re.sub(r"(?m)^%.*$", "", text)
        assert re.findall(r"(?<!\\)[%#_]", plain) == []
        assert re.sub(r"\\[{}]", "", plain).count("{") == re.sub(r"\\[{}]", "", plain).count("}")
        for environment in set(re.findall(r"\\begin\{(\w+)\}", plain)):
            assert plain.count(rf"\begin{{{environment}}}") == plain.count(rf"\end{{{environment}}}")
    assert letter.count(r"\section*") == 4
    with (tmp_path / "ledger.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["finding"], row["level"], row["verdict"]) for row in rows] == [
        (one.id, one.level or "", one.verdict) for one in synthetic.FINDINGS
    ]
    entries = (tmp_path / "study.bib").read_text(encoding="utf-8")
    assert re.findall(r"@misc\{([\w-]+),", entries) == ["invented-original", "invented"]
    assert "year = {{2024}}" in entries


def test_the_page_over_several_studies_leads_to_each(tmp_path: Path) -> None:
    study = synthetic.study(synthetic.TEXT.replace('title = "An invented', 'title = "<b>& An invented'))
    findings = [replace(result, answer="It <i>does</i>.") for result in synthetic.FINDINGS if result.id == "seed"]
    for folder in ("one", "two more"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "report.html").write_text("")
    written = report.write_index([(study, findings, "one"), (study, findings, "two more")], tmp_path)
    text = written.read_text(encoding="utf-8")
    outline = Outline(text)
    assert outline.open == []
    pages = [unquote(target).partition("#")[0] for target in outline.targets]
    assert set(pages) == {"one/report.html", "two more/report.html"}
    assert "<b>" not in text
    assert "<i>" not in text
    assert "All claims: 1 reproduced, 0 differ" in text


def test_the_page_begins_with_the_answer_to_its_question(tmp_path: Path) -> None:
    text = synthetic.TEXT.replace("[study]\n", '[study]\nheadline = "recovery"\n', 1)
    answers = {"recovery": "It regains the path soon.", "utilisation-falls": "It uses less of a faster path."}
    findings = [replace(result, answer=answers.get(result.id, "")) for result in synthetic.FINDINGS]
    findings = [replace(r, answer="") if r.verdict == "not testable" else r for r in findings]
    written = report.html(synthetic.study(text), synthetic.store(tmp_path), findings)
    answer = written[written.index('id="answer"') : written.index('id="letter"')]
    assert answer.count("It regains the path soon.") == 1
    assert re.findall(r'class="level">(\w+)', answer) == ["historic", "modern"]  # the two differ in their verdict
    assert 'href="#figure-recovery"' in answer
    assert Outline(written).open == []


def test_the_counts_are_those_of_the_ledger() -> None:
    from vazao.report.page import tally

    counts = {
        column["name"]: list(column["counts"].values()) for column in tally(synthetic.FINDINGS, synthetic.SETTINGS)
    }
    assert counts == {"historic": [3, 1, 0, 0], "modern": [1, 2, 0, 1], "decided as a whole": [1, 0, 1, 0]}


def test_the_page_says_how_to_make_it_again(html: str) -> None:
    assert "vazao verify .\nvazao run . --out ../again\nvazao show .\nvazao report ." in html
    assert synthetic.study().hash in html
    assert "vazao sql . &#39;SELECT" in html


def test_a_study_of_ones_own_is_no_rerun_and_has_no_author(tmp_path: Path) -> None:
    own = synthetic.study(synthetic.TEXT.replace('source = "Nobody, Nowhere, 2024"', ""))
    written = report.html(own, synthetic.store(tmp_path), synthetic.FINDINGS)
    assert "Study invented · run with Vazão" in written
    assert "What came out" in written
    assert "re-run" not in re.sub(r"<script.*?</script>", "", written, flags=re.DOTALL)
    assert "author" not in written.partition("<main")[2].partition("<script")[0].lower()


def test_text_of_the_study_is_text_not_markup(tmp_path: Path) -> None:
    attack = "<script>alert(1)</script>"
    text = synthetic.TEXT.replace("An invented comparison", f"An {attack} comparison").replace("Nobody", attack)
    written = report.html(synthetic.study(text), synthetic.store(tmp_path), synthetic.FINDINGS)
    assert attack not in written


def test_a_page_fetches_no_pictures(tmp_path: Path) -> None:
    picture = "![seen](https://elsewhere.example/seen.png)"
    text = synthetic.TEXT.replace("What do the windows look like?", picture)
    assert picture in text
    written = report.html(synthetic.study(text), synthetic.store(tmp_path), synthetic.FINDINGS)
    assert 'src="https://elsewhere.example' not in written
    assert "elsewhere.example" in written


def test_a_table_of_the_study_stands_below_the_verdicts(html: str) -> None:
    start = html.index('id="table-best"')
    assert html.index('id="summary"') < start < html.index('id="results"')
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>', html[start : html.index('id="results"')])
    assert rows == list(synthetic.RATES)
    assert 'class="number">utilisation</th>' in html


def test_a_study_without_claims_or_figures_has_a_page(tmp_path: Path) -> None:
    text = synthetic.TEXT[: synthetic.TEXT.index("[[figure]]")]
    written = report.html(synthetic.study(text), synthetic.store(tmp_path), [])
    assert 'id="summary"' not in written
    assert 'href="#summary"' not in written
    assert 'id="results"' not in written
    assert written.index('id="table-best"') < written.index('id="setting"')


def test_without_claims_what_was_measured_comes_first(tmp_path: Path) -> None:
    text = synthetic.TEXT[: synthetic.TEXT.index("[[finding]]")].replace("finding = [", "# finding = [")
    written = report.html(synthetic.study(text), synthetic.store(tmp_path), [])
    places = [written.index(f'<section id="{anchor}"') for anchor in ("tables", "results", "setting", "reproduce")]
    assert places == sorted(places)
    assert re.findall(r'<li><a href="#(\w+)">', written) == ["tables", "results", "setting", "reproduce"]


GRAPHS: dict[str, dict[str, Any]] = {
    "point-to-point": synthetic.point_to_point(), "path": synthetic.path(4), "dumbbell": synthetic.dumbbell(1),
    "dumbbell of three": synthetic.dumbbell(3), "dumbbell of a hundred": synthetic.dumbbell(100),
    "parking lot": synthetic.parking_lot(3), "multipath": synthetic.multipath(), "mesh": synthetic.mesh(),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_no_two_nodes_of_a_network_overlap(name: str) -> None:
    nodes, links = network.place(network.merge([GRAPHS[name]]))
    width, height = network.HOST
    placed = list(nodes.values())
    for i, a in enumerate(placed):
        for b in placed[:i]:
            assert abs(a.x - b.x) >= width or abs(a.y - b.y) >= height, f"{a.name} on {b.name}"
    assert all(link.source in nodes and link.target in nodes for link in links)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_network_is_drawn_with_its_names_and_rates(name: str) -> None:
    graph = GRAPHS[name]
    svg = network.draw([graph], "Network")
    routers = [node["name"] for node in graph["nodes"] if node["kind"] == "router"]
    assert all(f">{router}</text>" in svg for router in routers)
    slowest = min(link["rate_bps"] for link in graph["links"])
    assert f"{slowest / 1e6:g} Mbit/s" in svg


@pytest.mark.parametrize("name", GRAPHS)
def test_an_upright_network_shows_the_same_within_a_phones_width(name: str) -> None:
    nodes, links = network.place(network.merge([GRAPHS[name]]))
    network.stand(nodes, links)
    width, height = network.HOST
    placed = list(nodes.values())
    for i, a in enumerate(placed):
        for b in placed[:i]:
            assert abs(a.x - b.x) >= width or abs(a.y - b.y) >= height, f"{a.name} on {b.name}"
    lying, upright = (network.draw([GRAPHS[name]], "Network", upright=up) for up in (False, True))
    names = r'class="(?:name|more)"[^>]*>([^<]+)<'
    assert re.findall(names, lying) == re.findall(names, upright)
    wide = re.search(r'viewBox="\S+ \S+ (\d+) ', upright)
    assert wide
    # 340 points are a phone's width; letters of 11.5 points shrink to 8.5 at the least.
    assert int(wide[1]) <= 340 * 11.5 / 8.5


def test_many_hosts_are_summed_up() -> None:
    svg = network.draw([synthetic.dumbbell(100)], "Network")
    assert svg.count("97 more") == 2
    assert svg.count('class="host"') == 6


def test_values_that_the_design_varies_are_drawn_as_a_range() -> None:
    slow, fast = synthetic.dumbbell(1), synthetic.dumbbell(1)
    for side in fast["links"][1], fast["links"][1]["reverse"]:
        side["rate_bps"], side["queue"] = 1e9, synthetic.drop_tail("200 packets")
    svg = network.draw([slow, fast], "Network")
    assert "10 Mbit/s – 1 Gbit/s" in svg
    assert "queue 1 bdp or 200 packets" in svg


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_a_browser_shows_the_page(browser: Any, page: Path, width: int, height: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    shown = context.new_page()
    troubles: list[str] = []
    shown.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
    shown.on("pageerror", lambda error: troubles.append(str(error)))
    shown.on("request", lambda request: troubles.append(request.url) if outside(request.url, page) else None)
    shown.goto(page.as_uri())
    drawn = shown.locator("figure.chart")
    for i in range(drawn.count()):
        drawn.nth(i).scroll_into_view_if_needed()
        shown.locator("figure.chart[data-live]").nth(i).wait_for()
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    too_wide = (
        "[...document.querySelectorAll('.canvas svg')].filter(s => s.getBoundingClientRect().right > innerWidth + 1)"
    )
    assert shown.evaluate(f"{too_wide}.length") == 0
    for figure in "utilisation", "slow-start", "cwnd", "spread":
        texts = hover(shown, figure)
        assert texts, f"no tooltip over {figure}"
        assert "undefined" not in texts
        assert "NaN" not in texts
    assert troubles == []
    context.close()


def outside(url: str, page: Path) -> bool:
    return not url.startswith(("data:", "blob:")) and url != page.as_uri()


def hover(shown: Any, figure: str) -> str:
    """Text of the tooltip at some point of a figure's plot."""
    canvas = shown.locator(f"#figure-{figure} .canvas")
    canvas.scroll_into_view_if_needed()
    shown.evaluate("id => document.querySelector(`#figure-${id} .canvas`).scrollIntoView({block: 'center'})", figure)
    shown.wait_for_timeout(400)
    box = canvas.bounding_box()
    for step in range(12):  # along two heights: one may lie between panels
        across, down = 0.25 + 0.1 * (step // 2), (0.5, 0.3)[step % 2]
        shown.mouse.move(box["x"] + box["width"] * across, box["y"] + box["height"] * down)
        tip = shown.locator("#tooltip:not([hidden])")
        shown.wait_for_timeout(60)
        if tip.count():
            where = tip.bounding_box()
            assert where["x"] >= 0
            assert where["x"] + where["width"] <= shown.viewport_size["width"]
            return str(tip.inner_text())
    return ""


def test_a_series_is_picked_with_the_keyboard(browser: Any, page: Path) -> None:
    shown = browser.new_page(viewport={"width": 1280, "height": 900})
    shown.goto(page.as_uri())
    shown.locator("#figure-utilisation").scroll_into_view_if_needed()
    button = shown.locator("#figure-utilisation .legend button", has_text="highspeed")
    button.focus()
    shown.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    faint = shown.locator("#figure-utilisation .canvas .mark-line path[opacity='0.1']")
    assert faint.count() == 2 * (len(synthetic.VARIANTS) - 1)
    shown.keyboard.press("Enter")
    assert faint.count() == 0
    shown.close()


def test_numbers_stand_behind_each_figure(browser: Any, page: Path) -> None:
    shown = browser.new_page(viewport={"width": 1280, "height": 900})
    shown.goto(page.as_uri())
    # Not by a click: figures above are drawn as they scroll near, and may move the summary out of its way.
    shown.locator("#figure-recovery details.numbers").evaluate("details => { details.open = true; }")
    rows = shown.locator("#figure-recovery details tbody tr")
    rows.first.wait_for()
    assert rows.count() == len(synthetic.RATES) * len(synthetic.VARIANTS)
    shown.close()


def test_the_page_is_complete_without_scripts(browser: Any, page: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    shown = context.new_page()
    shown.goto(page.as_uri())
    assert shown.locator(".canvas > svg[role=img]").count() == len(synthetic.study().figures)
    context.close()


def test_a_link_from_the_verdicts_leads_to_its_claim(browser: Any, page: Path) -> None:
    shown = browser.new_page(viewport={"width": 390, "height": 844})
    shown.goto(page.as_uri())
    shown.locator("#summary a[href='#claim-slow-starts-alike']").click()
    shown.wait_for_timeout(1500)  # figures above and below become interactive, and change their heights
    box = shown.locator("#claim-slow-starts-alike").bounding_box()
    assert 0 <= box["y"] < 600
    shown.close()


WIRES = """
[network]
topology = "point-to-point"

[network.link]
rate = "10 Mbps"
delay = "5 ms"
queue = "50 packets"
loss = 0.01

[network.link.reverse]
queue = { kind = "codel", limit = "2 bdp" }
loss = { kind = "list", packets = [1, 7] }

[[flow]]
app = { kind = "upload", size = "1 kB" }
"""


def test_queues_and_losses_have_the_text_that_says_most() -> None:
    """The engine sends a queue and a loss model as data; the drawing turns them into text."""
    [link] = network.merge([load(WIRES).graph()])["links"]
    assert network.texts(link["forward"]) == ["10 Mbit/s", "5 ms", "queue 50 packets", "loss 1 %"]
    codel = "queue codel (ecn true, interval 100 ms, limit 2 bdp, target 5 ms)"
    assert network.texts(link["reverse"]) == ["10 Mbit/s", "5 ms", codel, "loss list (packets [1, 7])"]
    clean = load(WIRES, overrides=[("network.link.loss", 0.0)]).graph()
    assert network.texts(network.merge([clean])["links"][0]["forward"]) == ["10 Mbit/s", "5 ms", "queue 50 packets"]


def test_labels_stand_between_the_nodes_they_are_about() -> None:
    slow, fast = synthetic.point_to_point(), synthetic.point_to_point()
    for side in fast["links"][0], fast["links"][0]["reverse"]:
        side["rate_bps"], side["delay_s"] = 1e9, 0.2
    svg = network.draw([slow, fast], "Network")
    a, b = (float(x) for x in re.findall(r'class="name" x="([-.\d]+)"', svg))
    text = next(text for text in re.findall(r"<tspan[^>]*>([^<]+)<", svg) if "Gbit/s" in text)
    assert abs(b - a) - network.HOST[0] >= network.LETTER * len(text)


def test_a_network_that_is_part_of_another_is_drawn_as_that() -> None:
    small, large = synthetic.dumbbell(2), synthetic.dumbbell(10)
    assert network.shape(small) < network.shape(large)
    assert not network.shape(synthetic.point_to_point()) < network.shape(large)
    shared = min(small["links"], key=lambda link: link["rate_bps"])
    for side in shared, shared["reverse"]:
        side["rate_bps"] = 1e9
    svg = network.draw([small, large], "Network")
    assert svg.count("7 more") == 2
    assert "10 Mbit/s – 1 Gbit/s" in svg


@pytest.mark.parametrize(
    "text",
    ["'; touch taken; '", "$(touch taken)`touch taken`", "a\nb", "\x03\x1b[201~\rtouch taken\r", "\u202e\u2028\x9b"],
)
def test_a_command_that_a_report_shows_is_safe_to_paste(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting in an untrusted manifest is a single word of the command, without control characters for the terminal.

    Commands of a user's own study contain only its directory; those of a built-in study contain its settings.
    """
    study = synthetic.study().changed([("network.link.rate", text)], 1)
    store = synthetic.store(tmp_path)
    assert text not in commands(study, store)
    monkeypatch.setattr("vazao.report.page.built_in_studies", lambda: {study.name})
    command = commands(study, store).splitlines(keepends=True)
    line = "".join(command).partition("\nvazao show")[0]
    assert not [each for each in line if each != "\n" and unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp")]
    script = f'vazao() {{ for word; do printf "%s\\0" "$word"; done; }}\n{line}\n'
    printed = subprocess.run(
        ["bash"], input=script.encode(), capture_output=True, cwd=tmp_path, check=True
    ).stdout.decode()
    assert f"network.link.rate={text}" in printed.split("\0")
    assert not (tmp_path / "taken").exists()
