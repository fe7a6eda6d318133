import type { NetworkNode } from "../view/recording";
import { copy, type Doc, isTable, type Toml } from "./toml";

/** Networks drawn by hand, with lists of nodes and links. Each change returns a new document. */

export type Kind = NetworkNode["kind"];
export type Named = Pick<NetworkNode, "name" | "kind">;

export interface Wire {
  name: string;
  from: string;
  to: string;
  rate: string;
  delay: string;
}

const LISTS = { host: "hosts", router: "routers" } as const;
/** Initial settings of a new link. */
const NEW = { rate: "10 Mbps", delay: "10 ms", queue: "1 bdp" };

export const isDrawn = (doc: Doc | null): boolean => !!doc && Array.isArray(table(doc).hosts);

const table = (doc: Doc): Doc => (isTable(doc.network) ? doc.network : {});
const listed = (value: Toml | undefined): Toml[] => (Array.isArray(value) ? value : []);
const tables = (value: Toml | undefined): Doc[] => listed(value).filter(isTable);
/** Host of an address: `a.2` is the second interface of `a`. */
const hostOf = (address: Toml | undefined) => String(address ?? "").replace(/\.\d+$/, "");

export function nodes(doc: Doc): Named[] {
  const network = table(doc);
  return (["host", "router"] as const).flatMap((kind) =>
    listed(network[LISTS[kind]]).map((name) => ({ name: String(name), kind })),
  );
}

export const nameOf = (link: Doc): string => String(link.name ?? `${link.from}-${link.to}`);

export function wires(doc: Doc): Wire[] {
  return tables(table(doc).link).map((link) => ({
    name: nameOf(link),
    from: String(link.from),
    to: String(link.to),
    rate: typeof link.rate === "string" ? link.rate : "varies",
    delay: typeof link.delay === "string" ? link.delay : "",
  }));
}

/** First unused name with this prefix. */
function fresh(prefix: string, taken: string[]): string {
  let number = 1;
  while (taken.includes(`${prefix}${number}`)) number += 1;
  return `${prefix}${number}`;
}

function changed(doc: Doc, change: (network: Doc, all: Doc) => void): Doc {
  const made = copy(doc);
  change(table(made), made);
  return made;
}

export function added(doc: Doc, kind: Kind): [Doc, string] {
  const name = fresh(
    kind === "host" ? "h" : "R",
    nodes(doc).map((node) => node.name),
  );
  const made = changed(doc, (network) => {
    network[LISTS[kind]] = [...listed(network[LISTS[kind]]), name];
  });
  return [made, name];
}

/** Adds a link between two nodes, which may have several. */
export function joined(doc: Doc, from: string, to: string): Doc {
  const taken = wires(doc).map(({ name }) => name);
  const plain = `${from}-${to}`;
  const name: Doc = taken.includes(plain) ? { name: fresh(`${plain}-`, taken) } : {};
  return changed(doc, (network) => {
    network.link = [...listed(network.link), { ...name, from, to, ...NEW }];
  });
}

export function cut(doc: Doc, name: string): Doc {
  return changed(doc, (network) => {
    network.link = tables(network.link).filter((link) => nameOf(link) !== name);
  });
}

/** Removes a node, its links, and the flows that begin or end there. */
export function removed(doc: Doc, name: string): Doc {
  return changed(doc, (network, all) => {
    for (const list of Object.values(LISTS)) {
      if (network[list] !== undefined) network[list] = listed(network[list]).filter((one) => one !== name);
    }
    network.link = tables(network.link).filter(({ from, to }) => from !== name && to !== name);
    all.flow = tables(all.flow).filter(
      ({ client, server }) => hostOf(client) !== name && hostOf(server) !== name,
    );
  });
}

/** Renames a node wherever it is named. */
export function renamed(doc: Doc, old: string, name: string): Doc {
  const other = (value: Toml): Toml => (value === old ? name : value);
  const address = (value: Toml): Toml =>
    hostOf(value) === old ? name + String(value).slice(old.length) : value;
  return changed(doc, (network, all) => {
    for (const list of Object.values(LISTS)) {
      if (network[list] !== undefined) network[list] = listed(network[list]).map(other);
    }
    for (const link of tables(network.link)) {
      for (const end of ["from", "to"]) link[end] = other(link[end]!);
    }
    for (const flow of tables(all.flow)) {
      for (const end of ["client", "server"]) if (flow[end] !== undefined) flow[end] = address(flow[end]);
    }
  });
}

/** Adds a flow between two hosts, otherwise like the last flow. */
export function flowed(doc: Doc, client: string, server: string): Doc {
  return changed(doc, (_, all) => {
    const flows = tables(all.flow);
    const { count: _count, start_spread: _spread, ...like } = flows.at(-1) ?? { app: "upload" };
    all.flow = [...flows, { ...copy(like), client, server }];
  });
}

/** A link of a built-in topology, with the table that describes it, if there is one. */
export interface Built {
  name: string;
  from: string;
  to: string;
  described: Doc | undefined;
  rate: string;
  delay: string;
}

/**
 * Converts a built-in topology to a drawing. Hosts are listed in pairs, in the order in which flows that name none take
 * them; `ends` are the flows' ends, and `topology` is that of drawings.
 */
export function asDrawing(
  doc: Doc,
  topology: string,
  all: Named[],
  links: Built[],
  ends: [string, string][],
): Doc {
  const of = (kind: Kind) => all.filter((node) => node.kind === kind).map(({ name }) => name);
  const routers = of("router");
  const hosts = [...new Set([...ends.flat().map(hostOf), ...of("host")])];
  const link = links.map(({ name, from, to, described, rate, delay }) => {
    const plain = described ?? { rate, delay };
    return { ...(name === `${from}-${to}` ? {} : { name }), from, to, ...copy(plain) };
  });
  return changed(doc, (_, all) => {
    all.network = { topology, hosts, ...(routers.length ? { routers } : {}), link };
    const flows = tables(all.flow);
    // If a table stands for several flows, each of these has its own ends.
    if (flows.length !== ends.length) return;
    flows.forEach((flow, nth) => {
      [flow.client, flow.server] = ends[nth]!;
    });
  });
}
