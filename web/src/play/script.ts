import { UNSEEN, word } from "../shell";

/**
 * Scenarios as programs to paste. Their text comes from a link or a file and may be hostile. Each line of it becomes a
 * literal of the program's language, of visible characters only: none ends the literal, controls a terminal, or changes
 * the direction of text.
 */

const LONGEST = 64;

/** File name for a title: neither a module that Python would import nor a name that another tool looks for. */
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

/** Quotes a text as a Python literal. */
function literal(text: string): string {
  const quoted = text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
  return `'${quoted.replace(UNSEEN, (letter) => `\\U${letter.codePointAt(0)!.toString(16).padStart(8, "0")}`)}'`;
}

/** Shell commands that write the scenario to a file and run it. */
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

/** Python program that writes the scenario to a file and runs it. */
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
