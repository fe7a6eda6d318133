// One script and one style sheet for the page of `vazao explore`, or with --tests the tests as plain modules.
import { readdir } from "node:fs/promises";
import { build } from "esbuild";

const common = { bundle: true, target: "es2022", logLevel: "warning", legalComments: "none" };

if (process.argv.includes("--tests")) {
  const tests = (await readdir("test")).filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  await build({ ...common, entryPoints: tests, outdir: ".tests", format: "esm", platform: "node", outExtension: { ".js": ".mjs" } });
} else {
  const out = "../python/vazao/explore/static";
  await build({ ...common, entryPoints: { explore: "src/main.ts" }, outdir: out, format: "iife", minify: true });
  await build({ ...common, entryPoints: { explore: "src/style.css" }, outdir: out, minify: true });
}
