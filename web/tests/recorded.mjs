import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
/** Interpreter that has the engine; `tools/npm.py` says its own. */
const PYTHON = process.env.VAZAO_PYTHON ?? here("../../.venv/bin/python");
const known = new Map();

/** Recording of a scenario by the engine, in a buffer of its own. */
export function recorded(toml) {
  if (!known.has(toml)) {
    const given = { input: toml, maxBuffer: 2 ** 28 };
    known.set(toml, execFileSync(PYTHON, [here("../tools/recorded.py")], given));
  }
  return Uint8Array.from(known.get(toml)).buffer;
}

/** Recording with a text of its header replaced by one of the same length. */
export function edited(buffer, text, other) {
  const bytes = Buffer.from(buffer.slice(0));
  const length = bytes.readUInt32LE(12);
  const header = bytes.toString("utf8", 16, 16 + length).replaceAll(text, other);
  if (Buffer.byteLength(header) !== length) throw new Error("The header's length must stay.");
  bytes.write(header, 16);
  return Uint8Array.from(bytes).buffer;
}

const link = (from, to, rate, delay, more = "") =>
  `{ from = "${from}", to = "${to}", rate = "${rate} Mbps", delay = "${delay} ms"${more} }`;

/** Upload from a client through a router to a server, whose control ends slow start with losses. */
export const upload = ({ seconds = 1.5, cc = "reno", rate = 10, start = 0 } = {}) =>
  recorded(`name = "One loss"
until = "${seconds} s"
[network]
topology = "custom"
hosts = ["client", "server"]
routers = ["router"]
link = [${link("client", "router", 10 * rate, 1)}, ${link("router", "server", rate, 20, ', queue = "60 ms"')}]
[[flow]]
app = "upload"
start = "${start} s"
transport = { kind = "tcp", cc = "${cc}", slow_start = "standard" }
`);

/** Upload over two paths. */
export const paths = () =>
  recorded(`name = "Two paths"
until = "1.5 s"
[network]
topology = "multipath"
path = [{ rate = "10 Mbps", delay = "12 ms" }, { rate = "10 Mbps", delay = "18 ms", loss = 0.002 }]
[[flow]]
app = "upload"
transport = { kind = "sctp", cmt = true }
`);
