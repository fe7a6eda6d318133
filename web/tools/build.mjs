// Bundles each page into one script and one style sheet, and a notebook's widget into a module, for the Python package.

import { readFileSync, renameSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Notice with the licence of a bundled library, for a library whose own files do not carry it. */
function notice(library, address) {
  const licence = readFileSync(here(`../node_modules/${library}/LICENSE`), "utf8").trim();
  return `/*! Contains ${library} (${address}).\n\n${licence}\n*/`;
}

const UPLOT = notice("uplot", "https://github.com/leeoniya/uPlot");
const PLOT = [
  notice("@observablehq/plot", "https://github.com/observablehq/plot"),
  notice("d3", "https://github.com/d3/d3"),
].join("\n");

const PAGES = [
  { page: "viewer", script: "view/main.ts", style: "viewer.css", room: "seeing", contains: UPLOT },
  { page: "play", script: "play/main.ts", style: "laboratory.css", room: "seeing", contains: UPLOT },
  { page: "again", script: "again/main.ts", style: "again.css", room: "seeing", contains: "" },
  { page: "explore", script: "explore/main.ts", style: "explore.css", room: "explore", contains: PLOT },
];

for (const { page, script, style, room, contains } of PAGES) {
  const out = here(`../../python/vazao/${room}/static`);
  await build({
    banner: contains ? { js: contains, css: contains } : {},
    // Entries of the same name would collide: a style sheet gets its name only afterwards.
    entryPoints: { [page]: here(`../src/${script}`), [`${page}.style`]: here(`../src/style/${style}`) },
    outdir: out,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "ascii",
    legalComments: "inline",
    logLevel: "warning",
  });
  renameSync(`${out}/${page}.style.css`, `${out}/${page}.css`);
}

// Notebook hosts load a module; it styles only the frame around the page.
await build({
  entryPoints: { widget: here("../src/notebook/widget.ts") },
  outdir: here("../../python/vazao/seeing/static"),
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "ascii",
  logLevel: "warning",
});
