# make demo      what kc does, on the examples: PTX, CUDA C++, and a picture rendered on this machine
# make test      every check; what .ci/run calls
# make release   target/release/kc and the simulated driver of `kc gpu`, linked statically
# make dist      out/dist/kc-VERSION-MACHINE-linux.tar.gz: that program, manual pages, completions, documents, to unpack elsewhere
# make python    the Python package, in the private environment .env-python
# make wheel     the same for other machines, linked statically: out/wheels
# make sdist     the Python package as source: out/sdist; to install it takes Rust and LLVM 22
# make release-all   all three with the VS Code extension, tried in bare folders, with checksums: out/release
# make site      the documentation as pages with a search: out/site/index.html
# make vsix      the VS Code extension: editors/vscode/kc.vsix (needs npm)
# make bench     start-up and compile latency, and what a launch costs
# make gpu-whole every test of the simulated driver, of which `make test` takes a sample; TINYGRAD=FOLDER adds tinygrad's
# make gpu-asan  20,000 random sequences of calls of the simulated driver, under address sanitizer
# make gpu-kit   out/gpu-kit: a folder to take to a machine with a GPU; `run.sh` there tests and times (tests/gpu)
# make hooks     checks of commit messages, for this checkout: scripts/hooks
# make clean     removes build products, but not what was installed
#
# Each installs what it misses first (scripts/setup.sh).

SHELL := /bin/bash
STATIC := --release --no-default-features --features allocator,cli,cuda,llvm-static
KC := target/release/kc
# Panics and symbols name files of kc and of crates, and no folders of the machine that builds.
NO_PATHS := RUSTFLAGS="$$RUSTFLAGS --remap-path-prefix=$(CURDIR)=kc --remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}/registry/src=crates"
# By itself: the allocator of the command has no place in the processes of others.
DRIVER := $(NO_PATHS) cargo build --release -p kc-libcuda --no-default-features --features llvm-static

.PHONY: demo test rust-test release dist release-all bench python python-test on-python on-simulated-gpu with-torch with-warp with-jax without-gpu gpu-whole gpu-asan wheel wheel-aarch64 sdist site vsix gpu-kit hooks clean

release:
	@scripts/setup.sh build
	eval "$$(scripts/setup.sh env)" && $(NO_PATHS) cargo build $(STATIC) --bin kc && $(DRIVER)

dist: release
	@scripts/dist.sh $(KC) target/release/libkc_gpu.so out/dist

# The extension first: the archive carries it.
release-all:
	$(MAKE) vsix
	rm -rf out/dist out/release
	$(MAKE) dist wheel
	@scripts/release.sh out/dist/*.tar.gz out/wheels/*.whl editors/vscode/kc.vsix out/release

demo: release
	@scripts/demo.sh $(KC)

# What tests need is fetched while the compiler works.
test:
	@scripts/setup.sh build
	cargo fmt --all --check
	{ scripts/setup.sh test && scripts/setup.sh python; } & fetched=$$!; \
	eval "$$(scripts/setup.sh env)"; \
	cargo clippy --workspace --all-targets -- -D warnings && cargo test --no-run; built=$$?; \
	wait $$fetched && exit $$built
	$(MAKE) -j2 rust-test python-test

# Programs that tests start are no jobs of this make.
rust-test:
	unset MAKEFLAGS MFLAGS; eval "$$(scripts/setup.sh env)" && cargo test

python:
	@scripts/setup.sh python
	eval "$$(scripts/setup.sh env)" && cd python && PATH="$$PWD/../.env-python/bin:$$PATH" VIRTUAL_ENV=../.env-python ../.env-python/bin/maturin develop --quiet
	eval "$$(scripts/setup.sh env)" && cargo build --quiet -p kc-libcuda
	cp -f target/debug/libkc_gpu.so python/kc/

# One suite after the other where nothing else is asked (`make -j2`): each needs its own environment.
python-test: on-python on-simulated-gpu with-torch with-warp with-jax without-gpu

on-python: python
	.env-python/bin/python -m pytest -q python/tests
on-simulated-gpu: python
	.env-python/bin/python -m pytest -q python/tests/on_gpu
with-torch: python
	PYTHONPATH="$$PWD/python" .env-torch/bin/python -m pytest -q python/tests/with_torch
with-warp: python
	PYTHONPATH="$$PWD/python" .env-warp/bin/python -m pytest -q python/tests/with_warp
with-jax: python
	PYTHONPATH="$$PWD/python" .env-jax/bin/python -m pytest -q python/tests/with_jax
without-gpu: python
	eval "$$(scripts/setup.sh env)" && cargo build --bin kc
	.env-gpu/bin/python -m pytest -q python/tests/without_gpu
	.env-gpu/bin/python python/tests/without_gpu/numba_suite.py --sample 150

# All bugs with their twins, all of numba-cuda's tests, and tinygrad's test of operations where TINYGRAD names its sources.
gpu-whole: release
	@scripts/setup.sh test && scripts/setup.sh python
	KC=$(CURDIR)/$(KC) KC_WHOLE=1 .env-gpu/bin/python -m pytest -q python/tests/without_gpu
	KC=$(CURDIR)/$(KC) .env-gpu/bin/python python/tests/without_gpu/numba_suite.py
	if [ -n "$(TINYGRAD)" ]; then KC=$(CURDIR)/$(KC) .env-gpu/bin/python python/tests/without_gpu/tinygrad_ops.py $(TINYGRAD); fi

# Stable Rust has the sanitizer's library, and the option for it behind RUSTC_BOOTSTRAP. The test has the library, and the driver
# takes it from there. LLVM stays as it is.
gpu-asan:
	@scripts/setup.sh build
	eval "$$(scripts/setup.sh env)" && RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address -Clink-arg=-rdynamic" CARGO_BUILD_TARGET=x86_64-unknown-linux-gnu \
		CARGO_TARGET_DIR=target/asan cargo test --no-default-features --features llvm-dynamic --test gpu_fuzz -- --ignored many

wheel:
	@scripts/setup.sh python
	rm -f out/wheels/*.whl
	eval "$$(scripts/setup.sh env)" && $(DRIVER)
	cp -f target/release/libkc_gpu.so python/kc/
	eval "$$(scripts/setup.sh env)" && cd python && $(NO_PATHS) PATH="$$PWD/../.env-python/bin:$$PATH" ../.env-python/bin/maturin build --release --out ../out/wheels \
		--no-default-features --features cuda,llvm-static
	.env-python/bin/python python/needs.py out/wheels/*.whl

wheel-aarch64:
	scripts/wheel_aarch64.sh out/wheels

sdist:
	@scripts/setup.sh python
	eval "$$(scripts/setup.sh env)" && cd python && PATH="$$PWD/../.env-python/bin:$$PATH" ../.env-python/bin/maturin sdist --out ../out/sdist

bench: release
	@scripts/setup.sh test
	.env-test/bin/python benches/latency.py --kc $(KC)
	eval "$$(scripts/setup.sh env)" && cargo bench --no-default-features --features llvm-static --bench launch
	.env-test/bin/python benches/simulated_driver.py --kc $(KC)

gpu-kit: release
	@scripts/setup.sh test
	rm -rf out/gpu-kit
	mkdir -p out/gpu-kit/examples/launches
	cp $(KC) tests/gpu/run.sh out/gpu-kit
	cp examples/*.py out/gpu-kit/examples
	cp examples/launches/*.json out/gpu-kit/examples/launches
	.env-test/bin/python -B tests/reference/launches.py prepare tests/run out/gpu-kit/cases >/dev/null

site:
	@scripts/setup.sh site
	NO_MKDOCS_2_WARNING=1 .env-site/bin/mkdocs build --quiet --strict --config-file scripts/site/mkdocs.yml

vsix:
	cd editors/vscode && npm ci --no-audit --no-fund && npm run vsix

hooks:
	git config core.hooksPath scripts/hooks

clean:
	cargo clean
	rm -rf out .env-test .env-data .env-ray .env-python .env-torch .env-warp .env-jax .env-site .env-gpu .env-build python/kc/*.so
