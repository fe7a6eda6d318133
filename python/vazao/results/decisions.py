"""Functions of SQL by which a difference and its interval decide a claim: shown, contradicted, or left open by both.

`d` is a difference, `ci` the half-width of its 95 % interval in the same unit; the answer is TRUE, FALSE or NULL, and
NULL (undecided) is what SQL's own AND, OR and NOT make of what is not known (Kleene's three-valued logic).

- `greater(d, ci, least)`: the whole interval is above `least` (TRUE), none of it is (FALSE), or `least` is inside it.
- `not_worse(d, ci, margin)`: non-inferiority, where `d` says by how much it is worse: the whole interval is at or
  below the margin (TRUE), all of it above (FALSE).
- `equivalent(d, ci, margin)`: two one-sided tests (Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15(6), 1987):
  the whole interval lies within ± margin (TRUE), all of it outside (FALSE).
- `everywhere(x)`, `somewhere(x)`: aggregates: x holds in each row, or in some. FALSE and TRUE decide, NULL leaves
  open; `bool_and` would skip it.

Each side of a 95 % interval errs in one case of forty: ICH E9 (1998), sections 3.3.2 and 5.5, asks as much of a trial
for equivalence or non-inferiority. Schuirmann's own interval is of 90 %; ours is the stricter.

Where one row of k suffices, chance alone finds it in up to k cases of forty. So each function takes a second
half-width, `against`, that is used to contradict: `everywhere(greater(d, ci, least, wide))` with `wide` the interval
as one of k looks (`ci95(x, k)`, Bonferroni). To show that x holds in each row asks all of them, and needs no such
correction (Berger, Technometrics 24(4), 1982). `somewhere` is the other way about: `greater(d, wide, least, ci)`.

An interval that is not there (one replication of a scenario with randomness), or infinite, decides nothing. Where
nothing is random, the runs of one scenario are all alike, and their interval is zero: write 0 for `ci`, and the point
decides. Fewer runs widen the interval, and a wider one decides less: no claim gets easier by measuring less.
"""

MACROS = """
CREATE MACRO half_width(ci) AS CASE
    WHEN ci < 0 THEN error('greater, not_worse, equivalent: half the width of an interval is never negative')
    WHEN isfinite(CAST(ci AS DOUBLE)) THEN ci
END;
CREATE MACRO decided(d, ci, least, against) AS CASE
    WHEN NOT isfinite(CAST(d AS DOUBLE)) THEN NULL
    WHEN d - half_width(ci) > least THEN true
    WHEN d + half_width(against) <= least THEN false
END;
CREATE MACRO greater(d, ci, least) AS decided(d, ci, least, ci),
    (d, ci, least, against) AS decided(d, ci, least, against);
CREATE MACRO not_worse(d, ci, margin) AS NOT greater(d, ci, margin),
    (d, ci, margin, against) AS NOT greater(d, against, margin, ci);
CREATE MACRO equivalent(d, ci, margin) AS greater(margin - abs(d), ci, 0),
    (d, ci, margin, against) AS greater(margin - abs(d), ci, 0, against);
CREATE MACRO everywhere(x) AS CASE
    WHEN count(*) FILTER (NOT x) > 0 THEN false
    WHEN count(*) > 0 AND count(x) = count(*) THEN true
END;
CREATE MACRO somewhere(x) AS NOT everywhere(NOT x);
"""
