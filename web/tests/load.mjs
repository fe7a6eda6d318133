import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Imports a module of a page, bundled because Node does not read TypeScript. */
export async function load(module) {
  const entry = fileURLToPath(new URL(`../src/${module}`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
}

/** Reproducible pseudo-random numbers from 0 to 1. */
export function numbers(count, seed = 7) {
  let state = seed;
  return Float64Array.from({ length: count }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  });
}
