// Bundles the viewer into one script and one style sheet, which the Python package carries.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

await build({
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
  outExtension: {},
});

const { rename } = await import("node:fs/promises");
const out = here("../../python/vazao/seeing/static/");
await rename(`${out}viewer.style.css`, `${out}viewer.css`);
