// Bundles the viewer into one script and one style sheet, which the Python package carries.

import { readFileSync, renameSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// A copy of a library carries its licence.
const licence = readFileSync(here("../node_modules/uplot/LICENSE"), "utf8").trim();
const notice = `/*! Contains uPlot (https://github.com/leeoniya/uPlot).\n\n${licence}\n*/`;

await build({
  banner: { js: notice, css: notice },
  entryPoints: { viewer: here("../src/main.ts"), "viewer.style": here("../src/viewer.css") },
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

// Entries of one name would collide; the style sheet gets its own only now.
const out = here("../../python/vazao/seeing/static/");
renameSync(`${out}viewer.style.css`, `${out}viewer.css`);
