import { UNSEEN, word } from "../shell";

/**
 * A scenario as a program that somebody pastes: a link or a file gave its text, which may be a stranger's. Each line of it is a
 * literal of the program's language by itself, of letters that can be seen: none ends the literal, steers a terminal, or turns
 * the direction of what is read.
 */

const LONGEST = 64;

/** Name for a file: no module that Python would import, and none of the names that another tool reads a file by. */
export function nameOf(title: unknown): string {
  const name = String(title ?? "")
    .replace(/[^A-Za-z0-9_.-]+/g, "-")
    .slice(0, LONGEST)
    .replace(/^[-.]+|[-.]+$/g, "");
  return `vazao-${name || "scenario"}`;
}

const lines = (text: string): string[] =>
  text
    .replace(/\p{Cs}/gu, "\ufffd")
    .replaceAll("\r\n", "\n")
    .trim()
    .split("\n");

/** A text as a literal of Python. */
function literal(text: string): string {
  const quoted = text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
  return `'${quoted.replace(UNSEEN, (letter) => `\\U${letter.codePointAt(0)!.toString(16).padStart(8, "0")}`)}'`;
}

/** Commands of a shell that write the scenario to a file and run it. */
export function command(title: unknown, text: string): string {
  const file = `${nameOf(title)}.toml`;
  return [
    "printf '%s\\n' \\",
    ...lines(text).map((line) => `  ${word(line)} \\`),
    `  > ${file}`,
    `vazao run ${file}      # its tables`,
    `vazao view ${file}     # packet by packet`,
    `vazao play ${file}     # this page`,
    "",
  ].join("\n");
}

/** A program in Python that does so. */
export function python(title: unknown, text: string): string {
  const file = literal(`${nameOf(title)}.toml`);
  return [
    "from pathlib import Path",
    "",
    "import vazao as vz",
    "",
    "lines = [",
    ...lines(text).map((line) => `    ${literal(line)},`),
    "]",
    `Path(${file}).write_text("\\n".join(lines) + "\\n", encoding="utf-8")`,
    "",
    `result = vz.load(${file}).run()`,
    'print(result.flows.select("flow", "goodput_bps", "rtt_mean_s", "retransmissions"))',
    "",
  ].join("\n");
}
