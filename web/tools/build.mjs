// Bundles the viewer and the laboratory into a script and a style sheet each, which the Python package carries.

import { readFileSync, renameSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// A copy of a library carries its licence; that of smol-toml stands in its files.
const licence = readFileSync(here("../node_modules/uplot/LICENSE"), "utf8").trim();
const notice = `/*! Contains uPlot (https://github.com/leeoniya/uPlot).\n\n${licence}\n*/`;
const pages = { viewer: "main.ts", play: "play/main.ts" };
const styles = { viewer: "viewer.css", play: "play.css" };

await build({
  banner: { js: notice, css: notice },
  entryPoints: Object.fromEntries([
    ...Object.entries(pages).map(([name, file]) => [name, here(`../src/${file}`)]),
    ...Object.entries(styles).map(([name, file]) => [`${name}.style`, here(`../src/${file}`)]),
  ]),
  entryNames: "[name]",
  outdir: here("../../python/vazao/seeing/static"),
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "inline",
  logLevel: "warning",
});

// Entries of one name would collide; a style sheet gets its own only now.
const out = here("../../python/vazao/seeing/static/");
for (const name of Object.keys(styles)) renameSync(`${out}${name}.style.css`, `${out}${name}.css`);
