// Programs that the laboratory offers for pasting, run by shells and by Python.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "./load.mjs";

const TAKEN = "touch taken";
const PYTHON_TAKEN = "open('taken', 'w')";

/** Texts that would end the literal around them, or be executed in it, somewhere. */
const ATTACKS = {
  "the end of a here-document": `name = "x"\nTOML\n${TAKEN}\ncat <<'TOML'`,
  "that end behind a tab and a return": `\tTOML\r\n${TAKEN}\r\nTOML\r`,
  "a quote of the shell": `name = "'; ${TAKEN}; '"`,
  "a quote in two lines": `name = '''\n'; ${TAKEN}; echo '\n'''`,
  "commands within": `name = "$(${TAKEN}) \`${TAKEN}\` \${x:=$(${TAKEN})} $((1))"`,
  history: `# !! !$ !:0 ^a^b !touch`,
  "a format": `# %s %n %d %b \\n \\c \\044\\050touch taken\\051 \\x24`,
  "a backslash at the end": `# \\\n${TAKEN} \\\\\n# \\`,
  "three quotes": `name = """\n"""); ${PYTHON_TAKEN}; ("""\n"""`,
  "three other quotes": `name = 'a'''; ${PYTHON_TAKEN}; r'''\\'`,
  "a quote of Python": `name = "'); ${PYTHON_TAKEN}; ('"`,
  "a backslash before a quote": `# \\'); ${PYTHON_TAKEN}; (\\'\\`,
  "escapes of Python": `# \\N{APOSTROPHE} \\x27 \\u0027 \\U00000027 {${PYTHON_TAKEN}} \\`,
  "separators that are lines elsewhere": `# a\u2028${TAKEN}\u2029${TAKEN}\u0085${TAKEN}\u000b${TAKEN}\u000c${TAKEN}`,
  "a return": `# a\r${TAKEN}\r`,
  "keys of a terminal": `# \u0003\u0004\u001a\u001b[201~\n${TAKEN}\u000d\u007f\u0008\u0015\u009b201~ \u0012`,
  directions: `# \u202e'; ${TAKEN} #\u2066 \u200f\u061c\ufeff\u00ad\u{e0041}`,
  "letters of all sizes": "name = 'ã – 日本 🙂 \u{10ffff}' # ‘’“” ` ´",
  "an option": `-e \n--help\n-n`,
  "half a letter": "# \ud83d",
  nothing: "",
};
const TITLES = {
  "no name": undefined,
  "a path": "../../etc/passwd",
  "a hidden file": ".bashrc",
  "an option": "-rf",
  "a command": `$(${TAKEN})'; ${TAKEN} #`,
  lines: `a\n${TAKEN}\n\u2028b`,
  "another tool's file": "Cargo",
  "a module of Python's": "json",
  "a long one": "x".repeat(5000),
  "a table": { toString: "x" }.toString,
};

/** File that a text should become: with local line ends, and one at its end. */
const written = (text) => `${text.toWellFormed().replaceAll("\r\n", "\n").trim()}\n`;

/** Makes an empty directory, and beside it stubs for Vazão's command and module. */
function place() {
  const folder = mkdtempSync(join(tmpdir(), "vazao-"));
  const bin = join(folder, "bin");
  spawnSync("mkdir", [bin, join(folder, "here")]);
  writeFileSync(join(bin, "vazao"), '#!/bin/sh\n[ $# = 2 ] && [ -f "$2" ]\n', { mode: 0o755 });
  writeFileSync(
    join(bin, "vazao.py"),
    "class Any:\n    def __getattr__(self, _): return self\n    def __call__(self, *_): return self\nload = Any()\n",
  );
  return { bin, here: join(folder, "here") };
}

/** Runs a program in an empty directory; returns the content of the one file that it leaves. */
function ran(program, options, input, name) {
  const { bin, here } = place();
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    PYTHONPATH: bin,
    HISTFILE: "",
    PS1: "",
    PS2: "",
  };
  const done = spawnSync(program, options, { input, cwd: here, env, encoding: "utf8" });
  assert.equal(done.status, 0, `${name}: ${done.stderr}`);
  assert.ok(!existsSync(join(here, "taken")), `${name}: was obeyed`);
  const files = readdirSync(here);
  assert.equal(files.length, 1, `${name}: ${files}`);
  assert.match(files[0], /^vazao-[\w.-]{1,64}\.toml$/);
  return readFileSync(join(here, files[0]), "utf8");
}

const cases = () => [
  ...Object.entries(ATTACKS).map(([name, text]) => [name, "plain", text]),
  ...Object.entries(TITLES).map(([name, title]) => [`title: ${name}`, title, "a = 1"]),
];

/** Shells that read a script, and an interactive one whose history `!` recalls. */
for (const [shell, options] of [
  ["bash", ["--norc", "-s"]],
  ["bash", ["--norc", "-i", "-o", "history", "-o", "histexpand"]],
  ["sh", ["-s"]],
]) {
  test(`${shell} ${options.join(" ")} writes the scenario and obeys nothing in it`, async () => {
    const { command } = await load("play/script.ts");
    for (const [name, title, text] of cases()) {
      assert.equal(ran(shell, options, `${command(title, text)}exit\n`, name), written(text), name);
    }
  });
}

test("Python writes the scenario and obeys nothing in it", async () => {
  const { python } = await load("play/script.ts");
  for (const [name, title, text] of cases()) {
    const program = python(title, text);
    assert.equal(ran("python3", ["-S", "-"], program, name), written(text), name);
  }
});

test("a shell takes a word as it is", async () => {
  const { word } = await load("shell.ts");
  for (const [name, text] of Object.entries(ATTACKS)) {
    const input = `printf '%s\\0' ${word(text)}`;
    const output = spawnSync("sh", ["-s"], { input, encoding: "utf8" }).stdout;
    assert.equal(output, `${text.toWellFormed()}\0`, name);
  }
});

test("what is handed out has no letter that a terminal obeys", async () => {
  const { command, python } = await load("play/script.ts");
  for (const [, title, text] of cases()) {
    for (const program of [command(title, text), python(title, text)]) {
      assert.doesNotMatch(program.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
  }
});
