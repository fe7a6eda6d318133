"""Measures of dynamics and fairness, after RFC 5166, as SQL table macros over `samples` and `flows`.

All but `friendliness` need the measure `delivered` (`draining`: `queue`) in the scenario's trace. Times are in seconds,
rates in bits per second.

- `rates(width)`: run_id, flow, time_s, rate_bps: delivery rate of each flow in every interval of `width` seconds that
  lies within the flow's lifetime.
- `jain_over_time(width)`: run_id, time_s, flows, jain: Jain's index of the flows that last the whole interval.
- `convergence(width, delta)`: run_id, convergence_s: time from the last flow's start to the end of the first interval
  in which no flow has less than 1 - delta of its fair share (RFC 5166 section 2.3.2, delta-fair convergence time);
  NULL if there is none.
- `responsiveness(changed_s, capacity_bps, share, width)`: run_id, responsiveness_s: time from a capacity change at
  `changed_s` to the end of the first interval in which all flows together reach `share` of the new `capacity_bps`.
- `draining(changed_s, bytes)`: run_id, link, direction, draining_s: time from `changed_s` until a queue last held more
  than `bytes`, that is, how long a drop in capacity had an effect; NULL if it never held more.
- `friendliness(reference)`: run_id, friendliness: mean goodput of the flows with congestion control `reference`,
  divided by that of all flows of the run; 1 if the others leave them their share.
"""

TABLES = """
CREATE TABLE samples (run_id VARCHAR, flow BIGINT, link BIGINT, direction VARCHAR, measure VARCHAR, time_s DOUBLE,
                      value DOUBLE);
CREATE TABLE flows (run_id VARCHAR, flow BIGINT, cc VARCHAR, start_s DOUBLE, goodput_bps DOUBLE);
"""
"""Columns that the macros read, as tables without rows."""

MACROS = """
CREATE MACRO rates(width) AS TABLE
WITH marks AS (SELECT run_id, flow, time_s, max(value) AS value FROM samples WHERE measure = 'delivered' GROUP BY ALL),
     lives AS (SELECT run_id, flow, any_value(start_s) AS start, max(time_s) AS stop
               FROM marks JOIN flows USING (run_id, flow) GROUP BY ALL),
     numbers AS (SELECT run_id, flow, unnest(generate_series(CAST(ceil(start / width) AS BIGINT),
                                                             CAST(floor(stop / width) AS BIGINT))) AS n FROM lives),
     edges AS (SELECT run_id, flow, n, CAST(n * width AS DOUBLE) AS time_s FROM numbers),
     held AS (SELECT edges.run_id, edges.flow, n, edges.time_s, coalesce(value, 0) AS value
              FROM edges ASOF LEFT JOIN marks
              ON edges.run_id = marks.run_id AND edges.flow = marks.flow AND edges.time_s >= marks.time_s)
SELECT run_id, flow, time_s, 8 * (lead(value) OVER (PARTITION BY run_id, flow ORDER BY n) - value) / width AS rate_bps
FROM held QUALIFY rate_bps IS NOT NULL;

CREATE MACRO jain_over_time(width) AS TABLE
SELECT run_id, time_s, count(*) AS flows, jain(list(rate_bps)) AS jain FROM rates(width)
GROUP BY run_id, time_s HAVING count(*) > 1;

CREATE MACRO convergence(width, delta) AS TABLE
WITH late AS (SELECT run_id, max(start_s) AS start, count(*) AS n FROM flows GROUP BY run_id HAVING count(*) > 1),
     fair AS (SELECT run_id, time_s, min(rate_bps) >= (1 - delta) * avg(rate_bps) AND count(*) = any_value(n) AS near
              FROM rates(width) JOIN late USING (run_id) WHERE time_s >= start GROUP BY run_id, time_s)
SELECT run_id, min(time_s) FILTER (near) + width - any_value(start) AS convergence_s
FROM late LEFT JOIN fair USING (run_id) GROUP BY run_id;

CREATE MACRO responsiveness(changed_s, capacity_bps, share, width) AS TABLE
WITH total AS (SELECT run_id, time_s, sum(rate_bps) AS rate_bps FROM rates(width) WHERE time_s >= changed_s
               GROUP BY run_id, time_s)
SELECT run_id,
       CAST(min(time_s) FILTER (rate_bps >= share * capacity_bps) + width - changed_s AS DOUBLE) AS responsiveness_s
FROM total GROUP BY run_id;

CREATE MACRO draining(changed_s, bytes) AS TABLE
SELECT run_id, link, direction, max(time_s) FILTER (value > bytes) - changed_s AS draining_s FROM samples
WHERE measure = 'queue' AND time_s >= changed_s GROUP BY ALL;

CREATE MACRO friendliness(reference) AS TABLE
SELECT run_id, avg(goodput_bps) FILTER (cc = reference) / avg(goodput_bps) AS friendliness FROM flows GROUP BY run_id
HAVING count(*) FILTER (cc = reference) BETWEEN 1 AND count(*) - 1;
"""
