# make demo and make test need Go alone (and its module proxy). The others say what they need.
GO ?= go
export CGO_ENABLED ?= 0
BIN := bin
FUZZTIME ?= 20s

.PHONY: build test race lint bench fuzz faults e2e demo fixtures clean

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
	CGO_ENABLED=1 $(GO) test -race ./...

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

lint:
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofmt: $$out"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags faults,e2e ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

# Ratios in one run on this machine: direct, a bare hop, sixlink. The method stands beside the code.
bench: build
	$(GO) run ./fixtures/bench --sixlink $(BIN)/sixlink

# Every fuzz target for FUZZTIME each.
fuzz:
	@set -e; for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
	    echo "fuzz $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 50x $$p; done; done

# Tests that must wait for real time, or need a small disk.
faults: build
	$(GO) test -tags faults -run 'Fault' -count 1 -v ./... | grep -v 'no test files\|no tests to run\|^=== '

# Real servers and clients from the npm registry (Node.js 20 or later).
e2e: build
	SIXLINK=$(abspath $(BIN)/sixlink) $(GO) test -tags e2e -count 1 -timeout 15m -v ./fixtures/e2e | grep -v '^=== '

clean:
	rm -rf $(BIN) demo-recordings
