"""SQL macros that decide a claim from a difference and its interval: TRUE, FALSE, or NULL (undecided).

`d` is a difference, and `ci` the half-width of its 95 % interval in the same unit. SQL's own AND, OR and NOT propagate
NULL as an unknown truth value (Kleene's three-valued logic).

- `greater(d, ci, least)`: the whole interval is above `least` (TRUE), none of it is (FALSE), or it contains `least`
  (NULL).
- `not_worse(d, ci, margin)`: non-inferiority, where `d` is how much worse it is: the whole interval is at or below the
  margin (TRUE), all of it is above (FALSE).
- `equivalent(d, ci, margin)`: two one-sided tests (Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15(6), 1987):
  the whole interval lies within ± margin (TRUE), all of it is outside (FALSE).
- `everywhere(x)`, `somewhere(x)`: aggregates: x holds in every row, or in at least one. One FALSE decides `everywhere`
  and one TRUE decides `somewhere`; otherwise a NULL leaves the claim undecided, where `bool_and` would skip it.

Each side of a 95 % interval errs in one case out of 40, as ICH E9 (1998), sections 3.3.2 and 5.5, requires of trials
of equivalence or non-inferiority. Schuirmann's own interval is 90 %; ours is stricter.

Where one row out of k suffices to decide, chance alone produces one in up to k cases out of 40. Each function
therefore takes a second half-width, `against`, which is used to contradict: `everywhere(greater(d, ci, least, wide))`,
where `wide` is the half-width for one of k looks (`ci95(x, k)`, Bonferroni). Showing that x holds in every row requires
all of them and needs no such correction (Berger, Technometrics 24(4), 1982). For `somewhere` it is the reverse:
`greater(d, wide, least, ci)`.

A missing interval (one replication of a scenario with randomness) or an infinite one decides nothing. Without
randomness, all runs of one scenario are identical and their interval is zero: pass 0 as `ci`, and the point estimate
decides. Fewer runs widen the interval, and a wider interval decides less: measuring less never makes a claim easier.
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
