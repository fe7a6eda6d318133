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

An interval that is not there (one replication of a scenario with randomness), or infinite, decides nothing. Where
nothing is random, the runs of one scenario are all alike, and their interval is zero: write 0 for `ci`, and the point
decides. Fewer runs widen the interval, and a wider one decides less: no claim gets easier by measuring less.
"""

MACROS = """
CREATE MACRO greater(d, ci, least) AS CASE
    WHEN ci < 0 THEN error('greater, not_worse, equivalent: half the width of an interval is never negative')
    WHEN NOT isfinite(CAST(d AS DOUBLE)) OR NOT isfinite(CAST(ci AS DOUBLE)) THEN NULL
    WHEN d - ci > least THEN true
    WHEN d + ci <= least THEN false
END;
CREATE MACRO not_worse(d, ci, margin) AS NOT greater(d, ci, margin);
CREATE MACRO equivalent(d, ci, margin) AS greater(margin - abs(d), ci, 0);
CREATE MACRO everywhere(x) AS CASE
    WHEN count(*) FILTER (NOT x) > 0 THEN false
    WHEN count(*) > 0 AND count(x) = count(*) THEN true
END;
CREATE MACRO somewhere(x) AS NOT everywhere(NOT x);
"""
