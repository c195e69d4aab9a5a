# make demo and make test need Go alone (and its module proxy). The others say what they need.
GO ?= go
export CGO_ENABLED ?= 0
BIN := bin
FUZZTIME ?= 150s
FUZZPKGS ?= ./...

# Runs a command and leaves out the lines that say nothing; its exit code counts.
quiet = @mkdir -p $(BIN); $(1) >$(BIN)/$@.out 2>&1; rc=$$?; \
	grep -v 'no test files\|no tests to run\|^=== ' $(BIN)/$@.out; exit $$rc

.PHONY: build test race lint bench fuzz faults soak e2e e2e-hosts conformance demo clean

build:
	$(GO) build -trimpath -o $(BIN)/sixlink ./cmd/sixlink

# The main job, end to end: records two sessions of a small server, shows and grades them.
demo: build
	$(GO) build -trimpath -o $(BIN)/demo ./fixtures/demo
	$(BIN)/demo run --sixlink $(BIN)/sixlink --dir demo-recordings

test:
	$(GO) test ./...

# Needs a C compiler.
race:
	CGO_ENABLED=1 $(GO) test -race -timeout 20m ./...

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt: $$out"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags faults,e2e,e2ehosts ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

# Ratios in one run on this machine: direct, a bare hop, sixlink. The method stands beside the code.
bench: build
	$(GO) run ./fixtures/bench --sixlink $(BIN)/sixlink

# Every fuzz target of FUZZPKGS for FUZZTIME each: with two processors an hour and a half in all.
fuzz:
	@GO="$(GO)" .ci/fuzz $(FUZZTIME) $(FUZZPKGS)

# The faults that a recorder has to survive, one line each with what was observed; a
# test that fails is shown whole. For those that need real time, a small or a slow
# disk, and about four minutes; -p 1, since figures of time are not to be disturbed.
faults: build
	@$(GO) run ./fixtures/faults $(GO) test -json -tags faults -run '^TestFault[A-Z]' -count 1 -p 1 -timeout 15m ./...

# Ten minutes of real servers under load, with bursts and restarts; ends with the accounting.
MINUTES ?= 10
soak: build
	$(GO) run ./fixtures/soak --sixlink $(BIN)/sixlink --minutes $(MINUTES)

# Real servers and clients from the npm registry (Node.js 20 or later).
e2e: build
	$(call quiet,SIXLINK=$(abspath $(BIN)/sixlink) $(GO) test -tags e2e -count 1 -timeout 15m -v ./fixtures/e2e)

# Real hosts (Claude Code, Codex; Linux, Node.js and the npm registry), each in a network namespace with nothing in it but a
# scripted model: one line for each host and scenario with the chain of its six links. Three to six minutes, and at first the
# download of 1.3 GB; not in CI. What the hosts left stays in bin/e2e-hosts.
e2e-hosts: build
	@mkdir -p $(BIN); SIXLINK=$(abspath $(BIN)/sixlink) E2E_HOSTS_DIR=$(abspath $(BIN)/e2e-hosts) \
	  $(GO) test -tags e2ehosts -count 1 -parallel 2 -timeout 20m -v ./fixtures/e2e/hosts >$(BIN)/$@.out 2>&1; rc=$$?; \
	  grep -v '^=== \|^ *--- PASS' $(BIN)/$@.out; exit $$rc

# Holds the MCP conformance suite against itself, without and with sixlink between the peers, both as server and as
# client: the two columns, and exit code 1 when they differ (about six minutes on two idle cores, and the npm registry; not in CI).
RUNS ?= 3
conformance: build
	$(GO) build -trimpath -o $(BIN)/conformance ./fixtures/conformance
	$(BIN)/conformance --sixlink $(BIN)/sixlink --runs $(RUNS)

clean:
	rm -rf $(BIN) demo-recordings
