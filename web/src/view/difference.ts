import { duration, integer, moment } from "../format";
import { Kind, type Recording } from "./recording";

/** Nanoseconds that two packets may be apart and still count as the same, as in `vazao compare`. */
export const TOLERANCE = 1e6;

/** The first packet that differs between two runs: the nth of the same flow and side. */
export interface Difference {
  other: number;
  flow: number;
  side: number;
  nth: number;
  /** Packet in the first run, and in the other; null if that run has no such packet. */
  here: number | null;
  there: number | null;
  time: number;
}

/** Packets of each flow and side, in the order in which they were sent. */
function lists({ packets }: Recording): Map<number, Uint32Array> {
  const { flow, side, count } = packets;
  const counts = new Map<number, number>();
  const key = (packet: number) => flow[packet]! * 2 + side[packet]!;
  const many: number[] = [];
  for (let packet = 0; packet < count; packet++) many[key(packet)] = (many[key(packet)] ?? 0) + 1;
  many.forEach((number, at) => {
    counts.set(at, number);
  });
  const made = new Map([...counts].map(([at, number]) => [at, new Uint32Array(number)]));
  const filled: number[] = [];
  for (let packet = 0; packet < count; packet++) {
    const at = key(packet);
    const next = filled[at] ?? 0;
    made.get(at)![next] = packet;
    filled[at] = next + 1;
  }
  return made;
}

const same = (a: number, b: number) => a === b || (Number.isNaN(a) && Number.isNaN(b));

export function firstDifference(a: Recording, b: Recording, other = 1): Difference | null {
  const [left, right] = [lists(a), lists(b)];
  const none = new Uint32Array(0);
  let first: Difference | null = null;
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const [mine, theirs] = [left.get(key) ?? none, right.get(key) ?? none];
    for (let nth = 0; nth < Math.max(mine.length, theirs.length); nth++) {
      const here = nth < mine.length ? mine[nth]! : null;
      const there = nth < theirs.length ? theirs[nth]! : null;
      if (here !== null && there !== null && alike(a, here, b, there)) continue;
      // A truncated recording may lack a packet that the run had.
      if ((here === null && isCut(a)) || (there === null && isCut(b))) break;
      const time = Math.min(
        here === null ? Number.POSITIVE_INFINITY : a.packets.time[here]!,
        there === null ? Number.POSITIVE_INFINITY : b.packets.time[there]!,
      );
      if (!first || time < first.time)
        first = { other, flow: key >> 1, side: key & 1, nth, here, there, time };
      break;
    }
  }
  return first;
}

const isCut = ({ header: { packets } }: Recording) => packets.kept < packets.all;

/** Whether a packet's content could be read, unlike that of a library's encrypted packets. */
const isRead = ({ kind, from }: Recording["packets"], packet: number) =>
  kind[packet] !== 0 || !Number.isNaN(from[packet]!);

function alike(a: Recording, here: number, b: Recording, there: number): boolean {
  const [left, right] = [a.packets, b.packets];
  if (Math.abs(left.time[here]! - right.time[there]!) > TOLERANCE) return false;
  if (!isRead(left, here) || !isRead(right, there)) {
    const full = a.header.flows[left.flow[here]!]?.full ?? 0;
    return left.size[here]! >= full === right.size[there]! >= full;
  }
  return (
    left.kind[here] === right.kind[there] &&
    same(left.from[here]!, right.from[there]!) &&
    same(left.to[here]!, right.to[there]!)
  );
}

/** Describes what is the same in runs without a difference. */
export function sameInWords(recordings: Recording[]): string {
  const which = recordings.some(isCut) ? "all packets that were kept" : "all packets";
  return `No difference: ${which} of these runs are the same, at times that are ${duration(TOLERANCE)} apart at most.`;
}

const KINDS: [number, string][] = [
  [Kind.opens, "opens the connection"],
  [Kind.closes, "closes"],
  [Kind.resets, "resets"],
  [Kind.probes, "probe"],
  [Kind.retransmission, "retransmission"],
  [Kind.data, "data"],
  [Kind.ack, "acknowledgement"],
];

export function kindInWords(kind: number): string {
  // Nearly every data packet also acknowledges, which is not worth mentioning.
  const notable = kind & Kind.data ? kind & ~Kind.ack : kind;
  return KINDS.filter(([bit]) => notable & bit)
    .map(([, word]) => word)
    .join(", ");
}

/** Describes a packet in one line: when it was sent, what it carries, and why. */
export function packetInWords({ packets, header }: Recording, packet: number): string {
  const { time, from, to, kind, reason } = packets;
  const carried = Number.isNaN(from[packet]!) ? "" : ` ${integer(from[packet]!)}–${integer(to[packet]!)}`;
  const why = header.reasons[reason[packet]!];
  return `at ${moment(time[packet]!)}: ${kindInWords(kind[packet]!) || "packet"}${carried}${why ? ` (${why})` : ""}`;
}

export function differenceInWords(
  found: Difference,
  a: Recording,
  b: Recording,
  names: [string, string],
): string {
  const flow = a.header.flows.length > 1 || b.header.flows.length > 1 ? `flow ${found.flow}, ` : "";
  const describe = (recording: Recording, packet: number | null) =>
    packet === null ? "sends no such packet" : packetInWords(recording, packet);
  const apart =
    found.here !== null && found.there !== null
      ? Math.abs(a.packets.time[found.here]! - b.packets.time[found.there]!)
      : 0;
  return (
    `First difference: ${flow}${found.side ? "server" : "client"}’s packet ${integer(found.nth + 1)}. ` +
    `${names[0]} ${describe(a, found.here)}. ${names[1]} ${describe(b, found.there)}.` +
    (apart ? ` They are ${duration(apart)} apart.` : "")
  );
}
