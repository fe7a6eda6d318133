# Two commands: `make demo` runs a published study and writes its report, `make test` proves the house sound.
# Both set everything up first. Prerequisites: a Rust toolchain, CPython 3.11 or newer with venv, make.

.DELETE_ON_ERROR:
.PHONY: quick agreement differential fuzz references help setup kernel demo test lint lint-rust lint-python lint-pages bench docs site studies lock clean tools profile wheel web wasm
SHELL := /bin/bash

BIN := .venv/bin
LOCKED := .venv/.locked
BUILT := .venv/.built
# The extension as maturin asks Cargo for it (tool.maturin in pyproject.toml).
EXTENSION := --lib -p vazao-python --features extension-module,linux-guest,quinn-guest
# What the extension is made of: neither tests nor what only tests use.
RUST := Cargo.toml Cargo.lock rust-toolchain.toml $(shell find crates -path crates/differential -prune -o -path crates/laboratory -prune \
    -o -path '*/src/*' -name '*.rs' ! -path '*/tests/*' ! -name tests.rs -print -o -name build.rs -print -o -name Cargo.toml -print)
STUDY ?= hstcp-2010
STATIC := python/vazao/seeing/static
ENGINE := $(STATIC)/engine.wasm
EXPLORE := python/vazao/explore/static
EMBED := python/vazao/figures/static/embed.js
PAGES := $(STATIC)/viewer.js $(STATIC)/play.js $(STATIC)/again.js $(EXPLORE)/explore.js
NPM := $(BIN)/python web/tools/npm.py
WASM := wasm32-unknown-unknown
WASM_BUILD := --locked --profile web -p vazao-web --target $(WASM) --target-dir target/web
# What typical runs say of the code guides the compiler (bench/training.py): only the compiler whose names they use can tell.
PROFILE := $(wildcard $(CURDIR)/bench/profile-$(shell rustc --version 2>/dev/null | cut -d' ' -f2).profdata)
GUIDED := $(if $(PROFILE),CARGO_ENCODED_RUSTFLAGS='-Cprofile-use=$(PROFILE)')
# The first program of a guest is a package of its own: it is built for the guest, not for this machine.
PROGRAM := crates/guest/program/Cargo.toml
# Where the guests' kernel is; nothing where there is none.
KERNEL := $(BIN)/python -c 'from vazao import kernel; print(getattr(kernel.find(), "path", ""))'

help:
	@echo 'make demo     set up, run the study $(STUDY) (quick), print its findings, write its report'
	@echo 'make test     set up, lint, and pass every test'
	@echo 'make quick    what to run after each change: lints and tests of what changed, about two minutes (BASE=REVISION)'
	@echo 'make setup    leave a ready environment in .venv, with the command .venv/bin/vazao'
	@echo 'make kernel   set up, build the Linux kernel for guests, or reuse it (docs/kernel.md)'
	@echo 'make web      the pages of vazao view, play and explore (part of make setup)'
	@echo 'make wasm     the engine for web pages, in WebAssembly'
	@echo 'make lint     rustfmt, clippy, rustdoc, ruff, mypy, and of the pages tsc and biome'
	@echo 'make profile  record what typical runs say of the code, which guides the compiler (needs llvm-profdata)'
	@echo 'make bench    packet-hops per second, memory, the cost of tracing'
	@echo 'make agreement  our TCP, SCTP and MPTCP beside the Linux kernel, our QUIC beside quinn, scenario by scenario'
	@echo 'make references  our transports beside measurements of Linux and ns-3, by source and variant'
	@echo 'make differential  our TCP or SCTP beside the kernel, packet by packet, before random peers (PROTOCOL=sctp CASES=10000; SHOW=7 shows one)'
	@echo 'make fuzz     an hour of hostile and random scenarios and studies (MINUTES=60 SEED=… JOBS=2, docs/fuzzing.md)'
	@echo 'make docs     write the parts of docs/ that follow from the code'
	@echo 'make site     build the documentation site into site/, with the reports of all studies (quick, where there are none)'
	@echo 'make studies  run every built-in study in full'
	@echo 'make wheel    dist/vazao-….whl for any Linux with glibc 2.17: installs without a compiler; checked in a fresh environment'
	@echo 'make clean    remove the environment and everything built'

setup: $(BUILT) $(PAGES) $(EMBED) wasm

# The interpreter is looked for by running it: a name on the path need not work. Maturin compiles again only what depends on
# the interpreter, and what does not compile here ends the build there.
$(LOCKED): requirements.lock
	@command -v cargo >/dev/null || { echo 'error: no cargo; install a Rust toolchain (rustup) first' >&2; exit 1; }
	@for python in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3; do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && found="$$python" && break; \
	done; \
	[ -n "$$found" ] || { echo 'error: no CPython 3.11 or newer; install one (or say PYTHON=...)' >&2; exit 1; }; \
	rm -rf .venv; \
	"$$found" -m venv .venv || { echo "error: $$found cannot make environments; install its venv package" >&2; exit 1; }
	@echo 'installing Python packages, and compiling the engine beside it: about three minutes'
	@$(GUIDED) cargo build --release --locked $(EXTENSION) & \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock; installed=$$?; \
	wait; exit $$installed
	@touch $@

$(BUILT): $(LOCKED) pyproject.toml $(RUST)
	@command -v cargo >/dev/null || { echo 'error: no cargo; install a Rust toolchain (rustup) first' >&2; exit 1; }
	@echo 'compiling the engine'
	@$(GUIDED) VIRTUAL_ENV=$(CURDIR)/.venv PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/maturin develop --release --locked
	@touch $@

# After changes to the hot path, or with a new compiler.
profile: setup
	$(BIN)/python bench/training.py --record

# Scripts and styles of web pages, made from TypeScript with libraries that their lock names by hash.
$(PAGES) &: $(LOCKED) $(shell find web -path web/node_modules -prune -o -type f -print)
	@if $(NPM) web ci --silent --no-audit --no-fund; then $(NPM) web run --silent build; else echo '$(NO_PACKAGES)'; fi

# What draws the figures of reports. Its locked versions decide what it is; it is asked of the package that was just built.
$(EMBED): $(LOCKED) python/vazao/figures/vega.py python/vazao/figures/theme.py | $(BUILT)
	@$(BIN)/python -m vazao.figures.vega

NO_PACKAGES := packages of npm cannot be fetched: the pages of vazao view, play and explore are not built, and their tests are skipped

web: $(PAGES)

# The engine of pages is left out, and said so, where no compiler for WebAssembly can be had: rustup fetches its target, Debian's
# compiler must build the standard library as well.
wasm: $(BUILT) $(PAGES)
	@if [ -e $(ENGINE) ] && [ ! $(BUILT) -nt $(ENGINE) ]; then exit 0; fi; \
	if rustup target list --installed 2>/dev/null | grep -qx $(WASM) || timeout 120 rustup target add $(WASM) >/dev/null 2>&1; then \
	    echo 'compiling the engine for web pages, a minute'; \
	    cargo build $(WASM_BUILD); \
	elif command -v wasm-ld-22 >/dev/null && [ -e "$$(/usr/bin/rustc --print sysroot 2>/dev/null)/lib/rustlib/src/rust/library" ]; then \
	    echo 'compiling the engine for web pages, two minutes'; \
	    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-22 \
	        cargo build $(WASM_BUILD) -Zbuild-std=std,panic_abort; \
	else \
	    echo 'no compiler for WebAssembly: vazao play serves its page, and cannot write one (rustup target add $(WASM), or of Debian rustc-web, rust-web-src and lld-22)'; \
	    exit 0; \
	fi && cp target/web/$(WASM)/web/vazao_web.wasm $(ENGINE)

kernel: setup
	$(BIN)/vazao kernel build

demo: setup
	$(BIN)/vazao run $(STUDY) --quick
	@echo
	@echo 'The report is results/$(STUDY)/report.html: open it in a browser.'
	@echo 'A question of your own: $(BIN)/vazao explore results/$(STUDY)'

studies: setup
	@for study in $(patsubst python/vazao/studies/%.toml,%,$(filter-out %.pt.toml,$(wildcard python/vazao/studies/*.toml))); do \
	    $(BIN)/vazao run "$$study" --full || exit; \
	done

lint: setup
	@$(MAKE) --no-print-directory --jobs=2 --output-sync lint-rust lint-python lint-pages

lint-rust:
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets --locked -- -D warnings
	cargo fmt --manifest-path $(PROGRAM) --check
	cargo clippy --quiet --manifest-path $(PROGRAM) --all-targets --locked -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --quiet --workspace --no-deps --locked

lint-python:
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	$(BIN)/mypy

lint-pages:
	$(NPM) web run --silent check

# Tests that need a tool or a kernel that is not there are skipped with its name; pytest's summary counts them.
tools: setup
	@for tool in tshark:tshark chromium:chromium ns:ns2 iperf3:iperf3 curl:curl valgrind:valgrind; do \
	    command -v $${tool%%:*} >/dev/null || echo "optional tool not found: $${tool##*:} (its tests are skipped)"; \
	done
	@pkg-config --exists ns3-core 2>/dev/null || echo 'optional tool not found: ns3 (make bench compares without it)'
	@$(BIN)/python -c 'from vazao import kernel; kernel.find() or print(f"{kernel.missing()}: tests of guests are skipped")'

# Tests that compare times have the machine for themselves, at the end.
test: setup lint tools
	VAZAO_KERNEL="$$($(KERNEL))" cargo test --quiet --workspace --locked
	cargo test --quiet --manifest-path $(PROGRAM) --locked
	$(NPM) web test --silent
	$(BIN)/pytest -ra --durations=30 -n auto --dist loadscope --no-loadscope-reorder --untimed
	$(BIN)/pytest -ra -m timed

quick: $(BUILT) $(PAGES)
	@$(BIN)/python tests/quick.py $(if $(BASE),--base $(BASE))

bench: setup
	$(BIN)/python bench/run.py
	cargo bench --quiet -p vazao-transport --bench schedulers
	$(BIN)/python bench/instructions.py

# Our TCP, SCTP and MPTCP beside the Linux kernel's over a grid of paths, losses and sizes (needs a kernel: make kernel), and
# our QUIC beside a production library's.
agreement: setup
	$(BIN)/python bench/agreement.py
	$(BIN)/python bench/sctp_agreement.py
	$(BIN)/python bench/mptcp_agreement.py
	$(BIN)/python bench/quic_agreement.py

# Our transports beside other people's measurements (bench/README.md says how to read the table).
references: setup
	$(BIN)/python bench/references.py

# An hour of hostile files and random scenarios, and of those with guests where FUZZ='--kind guests'.
MINUTES ?= 60
JOBS ?= 2
fuzz: setup
	$(BIN)/python -m fuzz --minutes $(MINUTES) --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(FUZZ)

# Our machines beside the kernel's, packet by packet, before the same random peers (docs/linux-guests.md).
PROTOCOL ?= tcp
CASES ?= 10000
differential: setup
	VAZAO_KERNEL="$$($(KERNEL))" cargo run --quiet --release --locked -p vazao-differential -- --protocol $(PROTOCOL) --cases $(CASES) $(if $(SHOW),--show $(SHOW))

docs: setup
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/register.py
	$(BIN)/python docs/windows.py
	$(BIN)/python docs/cmt.py
	$(BIN)/python docs/mptcp.py
	$(BIN)/python docs/cases.py
	$(BIN)/python docs/web.py
	$(BIN)/python docs/pages.py

# Zig links against an old glibc, so that one file serves every Linux of the last ten years and CPython from 3.11 on.
wheel: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r wheel.lock
	rm -rf dist
	VIRTUAL_ENV=$(CURDIR)/.venv PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/maturin build --profile optimised --locked --zig \
	    --compatibility manylinux2014 --out dist
	$(BIN)/python tests/wheel.py dist/*.whl

# Reports that are there already, quick or full, are taken as they are.
REPORTS := $(patsubst python/vazao/studies/%.toml,results/%/report.html,$(filter-out %.pt.toml,$(wildcard python/vazao/studies/*.toml)))
$(REPORTS): results/%/report.html: | setup
	$(BIN)/vazao run $* --quick

# A warning is an error, as is a link to nowhere; nothing is fetched. Every page is made anew, as notebooks depend on the engine.
site: setup $(REPORTS)
	rm -rf site
	$(BIN)/python -m sphinx -q -E -W --keep-going -n -c docs/site -d target/site -b html . site
	$(BIN)/python docs/site/check.py site
	@echo 'The site is site/index.html: open it in a browser.'

# The lock is made anew with pip-tools: hashes of every file, no address of where they come from.
lock:
	python3 -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet pip-tools
	.venv-lock/bin/pip-compile --quiet --all-extras --generate-hashes --strip-extras --no-header \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o requirements.lock pyproject.toml
	echo 'ziglang>=0.15' | .venv-lock/bin/pip-compile --quiet --generate-hashes --strip-extras --no-header \
	    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate -o wheel.lock -
	rm -rf .venv-lock

clean:
	rm -rf .venv target build dist site web/node_modules $(STATIC) $(EXPLORE)
	find python tests -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis python/vazao/_core*.so
