"""The built-in studies in their quick size: every run ends, every claim has a verdict, the report is written."""

from pathlib import Path

import pytest

from vazao import figures, kernel, report
from vazao.results import campaign, load_study
from vazao.study import built_in_studies


@pytest.mark.parametrize("name", built_in_studies())
def test_a_built_in_study_runs_and_concludes(name: str, tmp_path: Path) -> None:
    study = load_study(name)
    done = campaign.run_study(study, size="quick", out=tmp_path / name)
    assert done.failures() == []
    assert done.not_run.is_empty() or not kernel.find()
    given_up = {finding.id for finding in study.findings if finding.not_testable}
    if kernel.find():
        undecided = [f"{r.id} ({r.level})" for r in done.findings if r.verdict == "not testable here"]
        # What only the full size can tell is said in the study's own words.
        allowed = given_up | {"access-rate-decides"}
        assert [each for each in undecided if each.split(" ")[0] not in allowed] == []
    for table in study.tables:
        assert done.table(table.id).height > 0, table.id
    figures.render(study, done.store, done.directory)
    page = report.write(study, done.store, done.findings, done.directory)
    assert "No stored run answers" not in page.read_text(encoding="utf-8")
