"""`vazao explain` knows every name: those of the engine, of study models, of tables and of documents."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from command import Vazao, caller
from documents import ROOT
from vazao import _core
from vazao.errors import ScenarioError
from vazao.scenario import load, registry
from vazao.study import Factor, Figure, Finding, Measurements, Part, Study, Summary, View, reference

LINK = '{ rate = "1 Mbps" }'
NETWORKS = {
    "point-to-point": f"link = {LINK}",
    "path": f"link = [{LINK}]",
    "dumbbell": f"bottleneck = {LINK}\naccess = {LINK}",
    "parking-lot": f"bottleneck = {LINK}\naccess = {LINK}",
    "multipath": f"path = [{LINK}]",
    "custom": 'hosts = ["a", "b"]\nlink = [{ from = "a", to = "b", rate = "1 Mbps" }]',
}


@pytest.fixture
def vazao(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Vazao:
    monkeypatch.chdir(tmp_path)
    return caller(monkeypatch, capsys)


def accepted(topology: str, above: str) -> list[str]:
    """Keys that the engine accepts in a table of a scenario, from its error message about an unknown key."""
    text = """
    until = "1 s"
    trace = { measures = ["cwnd"] }
    network = { }
    flow = [{ app = { kind = "upload" }, transport = { kind = "tcp" } }]
    """
    network = tomllib.loads(f'topology = "{topology}"\n{NETWORKS[topology]}')
    with pytest.raises(ScenarioError) as refused:
        load(text, overrides=[("network", network), (f"{above}.zzz".removeprefix("."), 1)])
    listed = re.search(r'unknown key "zzz"; known: (.*)', str(refused.value))
    assert listed, refused.value
    return listed[1].split(", ")


TABLES = [
    *(("point-to-point", table) for table in ("", "trace", "flow.0", "flow.0.app", "flow.0.transport", "network.link")),
    *((topology, "network") for topology in NETWORKS),
    ("custom", "network.link.0"),
    ("dumbbell", "network.bottleneck.reverse"),
    ("dumbbell", "network.access"),
    ("multipath", "network.path.0"),
]


@pytest.mark.parametrize(("topology", "above"), TABLES)
def test_every_key_that_the_engine_accepts_is_explained_by_its_path(topology: str, above: str) -> None:
    keys = accepted(topology, above)
    assert len(keys) > 1
    for key in keys:
        path = f"{above}.{key}".removeprefix(".")
        _, meanings = reference.explained(path)
        assert [each for each in meanings if each.kind == reference.SCENARIO and each.help and each.accepted], path


def test_no_key_of_a_scenario_is_declared_that_the_engine_does_not_accept() -> None:
    links = {key for place in ("network.link.0", "network.link.0.forward") for key in accepted("custom", place)}
    known = {
        "": set(accepted("point-to-point", "")),
        "trace": set(accepted("point-to-point", "trace")),
        "measure": set(accepted("point-to-point", "measure")),
        "network": {key for topology in NETWORKS for key in accepted(topology, "network")},
        "network.link": links,
        "flow": set(accepted("point-to-point", "flow.0")),
        "flow.transport.stack": {"client", "server"},
        "flow.transport.like": {"client", "server"},
    }
    declared = [key for rows in reference.declared("scenario").values() for row in rows for key in row.keys]
    assert len(declared) > 30
    for key in declared:
        above, _, last = key.rpartition(".")
        assert last in known[above], key


PLACES = {"network.link": "network.link", "flow": "flow.0", "flow.transport.stack": "flow.0.transport.stack", "": ""}


def test_to_write_a_default_is_to_leave_it_out() -> None:
    smallest = (
        'flow = [{ app = "upload" }]\nuntil = "1 s"\n[network]\ntopology = "point-to-point"\nlink.rate = "1 Mbps"'
    )
    written = 0
    for row in (row for rows in reference.declared("scenario").values() for row in rows):
        if not row.default.startswith("`"):
            continue
        default = tomllib.loads(f"x = {row.default.strip('`')}")["x"]
        sides = all(".stack." in key for key in row.keys)
        above, _, last = row.keys[0].rpartition(".")
        place = PLACES[above]
        changes = (
            [(place, dict.fromkeys(("client", "server"), default))]
            if sides
            else [(f"{place}.{last}".strip("."), default)]
        )
        assert load(smallest, overrides=changes).run_id == load(smallest).run_id, row.keys
        written += 1
    assert written >= 8
    # A value other than the default changes the run.
    assert load(smallest, overrides=[("network.link.delay", "1 ms")]).run_id != load(smallest).run_id


MODELS: dict[str, type[BaseModel]] = {
    "part": Part, "factor": Factor, "view": View, "table": Summary, "figure": Figure, "finding": Finding,
    "measurements": Measurements,
}  # fmt: skip


def fields(model: type[BaseModel], above: str) -> Iterator[tuple[str, Any]]:
    """Keys of a study's table and of its nested tables, each with its default."""
    for name, field in model.model_fields.items():
        key = f"{above}.{field.alias or name}"
        yield key, field.default
        inner = [kind for kind in (field.annotation, *_parts(field.annotation)) if _is_model(kind)]
        for kind in inner:
            if kind not in MODELS.values() and kind.__name__ not in ("Level", "Measure"):
                yield from fields(kind, key)


def _parts(annotation: Any) -> Iterator[Any]:
    for part in get_args(annotation):
        yield part
        yield from _parts(part)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def every_field() -> list[tuple[str, Any]]:
    own = {field.alias or name for name, field in Study.model_fields.items()} - {*MODELS, "scenario"}
    study = [(f"study.{name}", Study.model_fields[name].default) for name in own]
    return [*study, *(pair for name, model in MODELS.items() for pair in fields(model, name))]


def test_every_key_of_a_study_is_explained_and_no_other() -> None:
    keys = [key for key, _ in every_field()]
    assert len(keys) > 60
    assert {"finding.numbers.ci", "part.replications.quick", "study.seed"} <= set(keys)
    for key in keys:
        assert [each for each in reference.explained(key)[1] if each.kind == reference.STUDY and each.help], key
    declared = {key for rows in reference.declared("study").values() for row in rows for key in row.keys}
    tables = {"study", "scenario", "design", *MODELS}
    assert {key for key in declared if not key.startswith("design.")} == {*keys, *tables}


def test_defaults_of_a_study_are_the_models() -> None:
    rows = {key: row for rows in reference.declared("study").values() for row in rows for key in row.keys}
    for key, default in every_field():
        shown = rows[key].default
        if default is PydanticUndefined:
            assert shown == "required", key
        elif isinstance(default, str) and default:
            assert shown == f'`"{default}"`', key
        elif isinstance(default, int) and not isinstance(default, bool):
            assert shown == f"`{default}`", key
        else:
            assert shown != "required", key


def test_every_column_and_measure_is_explained() -> None:
    tables = json.loads(_core.tables())
    measures = tables.pop("measures")
    for table, columns in tables.items():
        for column in columns:
            _, meanings = reference.explained(column["name"])
            assert (f"column of {table}", column["help"]) in [(each.kind, each.help) for each in meanings]
    for measure in measures:
        found = [each for each in reference.explained(measure["name"])[1] if each.kind == reference.MEASURE]
        assert [(each.help, each.unit) for each in found] == [(measure["help"], _core.MEASURES[measure["name"]][1])]


def test_every_word_of_the_glossary_is_explained_as_the_document_says() -> None:
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert len(rows) > 50
    for word, text in rows:
        for written in (word, word.upper(), f"{word}s"):
            assert text in [each.help for each in reference.explained(written)[1] if each.kind == reference.WORD]


def test_words_of_the_field_lead_to_names_that_are_explained() -> None:
    field = reference.field()
    names = [reference.folded(name) for word in field for name in (word.name, *word.also)]
    assert len(names) > 350
    assert len(names) == len(set(names))
    # A term that the glossary has is explained there.
    assert not {*names} & {reference.folded(word) for word in reference.words()}
    for word in field:
        assert word.help, word.name
        assert word.here, word.name
        for name in word.here:
            entries, meanings = reference.explained(name)
            assert [each for each in (*entries, *meanings) if each.kind != reference.FIELD], (word.name, name)


# Names that people in the field would type: from the tables of contents of RFC 9293, RFC 5681 and RFC 9002, sysctls of
# tcp(7), and terms from papers, ss(8) and tc(8).
TYPED = """
receive window|rwnd|advertised window|tcp_wmem|tcp_rmem|bufferbloat|RTO|retransmission timeout|slow start
fast retransmit|fast recovery|congestion avoidance|congestion window|ssthresh|duplicate ack|dupack|delayed ack
Nagle|silly window syndrome|zero window|window scaling|SACK|D-SACK|RACK|TLP|F-RTO|Karn|RTT|srtt|rttvar|BDP
bandwidth|latency|throughput|goodput|jitter|packet loss|loss rate|AQM|CoDel|RED|fq_codel|ECN|CE|ECE|MSS|MTU|TFO
PAWS|timestamps|keepalive|TSO|GSO|GRO|AIMD|fairness|Jain's index|TCP friendliness|pacing|burst|HOL blocking
head-of-line blocking|0-RTT|handshake|SYN|PTO|persistent congestion|flow control|stream|MPTCP|subflow|netem|tc
qdisc|txqueuelen|tail drop|token bucket|pcap|qlog|iperf3|ping|FCT|cross traffic|initcwnd|rto_min|SO_SNDBUF
SO_RCVBUF|TCP_NODELAY|BBRv3|buffer sizing|global synchronization|reordering|in flight|sawtooth
tcp_congestion_control|spurious retransmission|propagation delay|queueing delay|serialization delay
RTT unfairness
"""


@pytest.mark.parametrize("typed", TYPED.replace("|", "\n").strip().splitlines())
def test_what_people_of_the_field_type_is_explained(typed: str) -> None:
    entries, meanings = reference.explained(typed)
    assert entries or meanings


def test_every_entry_and_every_parameter_of_the_registry_is_explained() -> None:
    for entry in registry():
        for name in (entry.name, *entry.aliases):
            assert entry in reference.explained(name)[0]
        for parameter in entry.parameters:
            if entry.kind in ("personality", "strippable option"):
                continue
            found = [each for each in reference.explained(parameter.name)[1] if entry.name in each.of]
            assert parameter.help in [each.help for each in found], (entry.name, parameter.name)


@pytest.mark.parametrize(
    ("written", "kind", "shown"),
    [
        ("network.bottleneck.rate", "key of a scenario", "rate of IP packets"),
        ("scenario.network.path.1.reverse.delay", "key of a scenario", "propagation delay"),
        ("flow.0.transport.min_rto", "key of a scenario", "retransmission timeout"),
        ("flow.*.transport.cc.profile", "key of a scenario", "whose rules"),
        ("part.factor.levels", "key of a study", "varied"),
        ("part.scenario.flow.count", "key of a scenario", "so many flows"),
        ("design.kind", "key of a study", "combinations"),
        ("goodput_bps", "column of flows", "unit: bit/s"),
        ("replication", "column of runs", "studies only"),
        ("cwnd", "measure", "congestion window in bytes"),
        ("BDP", "word", "bandwidth-delay product"),
        ("receive window", "word of the field", "see here: vazao explain receive_buffer"),
        ("rwnd", "word of the field", "receive_buffer"),
        ("tcp_wmem", "word of the field", "send_buffer"),
        ("net.ipv4.tcp_rmem", "word of the field", "receive_buffer"),
        ("bufferbloat", "word of the field", "codel"),
        ("RTO", "word", "retransmission timeout"),
        ("retransmission-timeout", "word of the field", "min_rto"),
        ("Slow_Start", "word", "doubles"),
        ("bandwidth", "word of the field", "network.link.rate"),
        ("latency", "word of the field", "one-way delay"),
        ("lowest-rtt", "packet scheduler", "source:"),
    ],
)
def test_a_name_is_explained_in_the_terminal(vazao: Vazao, written: str, kind: str, shown: str) -> None:
    answer = vazao("explain", written)
    assert (answer.code, answer.err) == (0, "")
    assert kind in answer.out
    assert shown in answer.out
    assert "](" not in answer.out
    assert "`" not in answer.out.replace("`vazao", "")


def test_an_ambiguous_name_prints_all_its_meanings(vazao: Vazao) -> None:
    document = json.loads(vazao("explain", "rate", "--json").out)
    names = [each["name"] for each in document]
    assert {"network.link.rate", "flow.app.rate", "flow.transport.rate"} <= set(names)
    assert [each["kind"] for each in json.loads(vazao("explain", "cwnd", "--json").out)] == ["measure", "word"]
    printed = vazao("explain", "mptcp").out
    assert "transport" in printed
    assert "strippable option" in printed


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("cwdn", "cwnd"),
        ("goodputt_bps", "goodput_bps"),
        ("network.bottleneck.rat", "network.bottleneck.rate"),
        ("flow.0.transport.min_rtoo", "flow.0.transport.min_rto"),
        ("factor.level", "factor.levels"),
        ("glosary", None),
        ("subflwo", "subflow"),
        ("bandwith", "bandwidth"),
        ("bufferbloatt", "bufferbloat"),
    ],
)
def test_a_misspelt_name_is_met_with_what_was_meant(vazao: Vazao, written: str, meant: str | None) -> None:
    answer = vazao("explain", written)
    assert answer.code == 2
    assert answer.out == ""
    assert (f"did you mean {meant!r}?" if meant else "vazao list") in answer.err


@pytest.mark.parametrize(
    "written", ["", ".", "..", "a.b.c", "*", "0", "network.", ".rate", "\x1b[31m", "`x`", "é" * 500]
)
def test_no_name_ends_in_a_traceback(vazao: Vazao, written: str) -> None:
    answer = vazao("explain", written)
    assert answer.code in (0, 2)
    assert "defect" not in answer.err
    assert "\x1b" not in answer.err + answer.out
