import type { Panel } from "../../drawing/panel";
import { type Model, overlaid, runColour } from "../model";
import { LanesPanel } from "./lanes";
import { hasLimits, LimitsPanel, type Strip, stripOf, stripsOf } from "./limits";
import { LinesPanel, QueuesPanel } from "./lines";
import { RatesPanel } from "./rates";
import { SequencePanel } from "./sequence";
import { SpaceTimePanel } from "./spacetime";
import { WindowsPanel } from "./windows";

/** Measures that have their own panel, or are drawn as something else. */
const PLACED = new Set([
  ...[
    "cwnd",
    "ssthresh",
    "flight",
    "state",
    "rtt",
    "srtt",
    "rto",
    "min_rtt",
    "window",
    "delay",
    "delay_back",
  ],
  ...["pacing_rate", "delivered", "sequence", "queue", "limit"],
]);

/** Panels for which the runs have data, in their order on the page. */
export function panels(model: Model): Panel[] {
  const observed = model.runs.some((run) => run.observed);
  const windows = new WindowsPanel(model, {
    id: "windows",
    title: "Windows",
    about: observed
      ? "advertised window and bytes that have passed and are not acknowledged"
      : "congestion window, slow-start threshold and bytes in flight over the sender’s states",
    measures: ["cwnd", "ssthresh", "flight", "window"],
    // Where the receiver's window is far from full, the data's own windows are what there is to see.
    leaves: { measure: "window", times: 3 },
    ofPackets: observed,
    height: 230,
  });
  const rtt = new LinesPanel(model, {
    id: "rtt",
    title: "Round-trip time",
    about: observed
      ? "round trips between the capture and the data’s receiver"
      : "measured and smoothed round-trip time, and the retransmission timeout",
    ofPackets: observed,
    measures: ["rtt", "srtt", "min_rtt", "rto"],
    // Before the first sample, and when it backs off, the timeout is far above all else.
    leaves: { measure: "rto", times: 6 },
  });
  const delay = new LinesPanel(model, {
    id: "delay",
    title: "One-way delay",
    about: "time from one capture to the other, with clocks that are set by the least delays",
    measures: ["delay", "delay_back"],
    ofPackets: true,
  });
  const queues = new QueuesPanel(model, {
    id: "queues",
    title: "Queues",
    about: "bytes that wait before each link, and what was dropped",
    measures: ["queue"],
  });
  const made: Panel[] = [new SequencePanel(model)];
  // A capture at one place shows no way over links.
  if (!model.runs.some((run) => run.atOnePlace)) made.push(new SpaceTimePanel(model));
  if (windows.present) made.push(windows);
  if (model.runs.some(hasLimits)) {
    made.push(
      new LimitsPanel(
        "limits",
        () => model.theme,
        () => strips(model),
      ),
    );
  }
  if (rtt.present) made.push(rtt);
  if (delay.present) made.push(delay);
  made.push(new RatesPanel(model));
  if (queues.present) made.push(queues);
  for (const objects of [true, false]) {
    const lanes = new LanesPanel(model, objects);
    if (lanes.present) made.push(lanes);
  }
  const others = new Map(
    model.runs.flatMap(({ recording }) =>
      recording.series.map(({ measure }) => [measure.name, measure] as const),
    ),
  );
  for (const { name, title } of others.values()) {
    if (PLACED.has(name)) continue;
    const panel = new LinesPanel(model, {
      id: `other-${name}`,
      title,
      about: title,
      measures: [name],
      height: 150,
    });
    if (panel.present) made.push(panel);
  }
  return made;
}

/** Strips of all flows, or of the chosen one in each of several runs. */
function strips(model: Model): Strip[] {
  const { runs, flow, theme } = model;
  if (!overlaid(model)) return stripsOf(runs[0]!, theme.soft, flow);
  return runs.flatMap((run, nth) => stripOf(run, flow, `run ${nth + 1}`, runColour(model, nth)));
}
