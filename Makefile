# The two commands of the README are `make demo` and `make test`. `make check` is
# what CI runs beside `make test`: whatever needs a build of its own.
#
# CONTRIBUTING.md has how long each takes on 2 cores.

GO  ?= go
BIN := $(CURDIR)/bin
# The compiler takes a tenth less of CPU if it collects garbage less often, and
# staticcheck half. Tests themselves run with the default, hence -toolexec.
COMPILE := GOGC=400
GOTEST := $(GO) test -toolexec='env $(COMPILE)' -vet=off
# Test binaries are linked without what only a debugger reads.
TEST := $(GOTEST) -race -ldflags='-s -w' -timeout 10m

# The modules of go.work. The control plane's pins its own Kubernetes and stays
# outside.
MODULES := . workqueue cache ctrlruntime prometheus kinglettest cmd/kinglet test bench hack
# The library, and what is built on it and ships with it. The rest tests it beside its
# neighbours, which takes as long to compile again.
PRODUCT := . workqueue cache ctrlruntime prometheus kinglettest cmd/kinglet test/faults test/examples/site test/examples/unit
NEIGHBOURS := bench test/interop test/examples/operator test/peers
# Every package of some modules or folders, for one command, so that no core waits for the last
# test of each.
packages = $(patsubst %,./%/...,$(1))
# Packages of cluster that do not import k8s.io/kubernetes. The rest is tested
# without the race detector, and not seen by staticcheck: to compile Kubernetes
# with the one, and to read it with the other, takes longer than CI may.
# `make long-cluster` does both.
CLUSTER_LIGHT := ./nodes/... ./churn/...

.PHONY: quick test check nightly build e2e torture soak mutants peers bench demo clean

# What a person runs before a commit: gofmt, vet, go mod tidy and the unit tests of what
# differs from main, in two minutes once compiled.
quick:
	@hack/quick

# Every test of the library, the command and the examples, and the end to end
# tests: a newcomer's command, so each package is compiled once, with the race
# detector, and Kubernetes once, before the tests that start it, which have a time
# limit. Vet is part of check.
test: $(BIN)/kinglet-cluster unit e2e browser

# What CI runs beside it: each of these compiles everything again in another way (for vet
# and staticcheck, with controller-runtime, with another version of Kubernetes).
check: format tidy-check lint apidiff strangers alerts neighbours many peers-cache

# What runs longer, four hours and a half in all: random runs, real clusters, other
# people's suites, every supported Kubernetes, and the control plane's own tests.
nightly: lint-all fuzz mutants torture soak peers operators matrix long-cluster unit-cluster long-decoders vulnerabilities

build: $(BIN)/kinglet $(BIN)/kinglet-cluster

# `make bin/staticcheck` as well, for whoever types it.
.PHONY: bin/kinglet bin/kinglet-cluster bin/staticcheck bin/apidiff bin/govulncheck
bin/kinglet bin/kinglet-cluster bin/staticcheck bin/apidiff bin/govulncheck: bin/%: $(BIN)/%

# Go knows best what is out of date, so these are built every time.
.PHONY: $(BIN)/kinglet $(BIN)/kinglet-cluster $(BIN)/staticcheck $(BIN)/apidiff $(BIN)/govulncheck
$(BIN)/kinglet:
	$(GO) build -C cmd/kinglet -o $@ .
# -trimpath as in kinglettest, so that Kubernetes is compiled once for both.
$(BIN)/kinglet-cluster:
	GOWORK=off $(COMPILE) $(GO) build -C cluster -trimpath -o $@ ./cmd/kinglet-cluster
$(BIN)/staticcheck:
	GOWORK=off $(GO) build -C hack -modfile=tools.mod -o $@ honnef.co/go/tools/cmd/staticcheck
$(BIN)/apidiff:
	GOWORK=off $(GO) build -C hack -modfile=tools.mod -o $@ golang.org/x/exp/cmd/apidiff
$(BIN)/govulncheck:
	GOWORK=off $(GO) build -C hack -modfile=tools.mod -o $@ golang.org/x/vuln/cmd/govulncheck

.PHONY: format tidy-check lint vet staticcheck
format:
	@files=$$(git ls-files -z '*.go' | xargs -0 gofmt -l) && { [ -z "$$files" ] || { echo "gofmt -w" $$files; exit 1; }; }

tidy-check:
	hack/tidy -diff

lint: vet staticcheck

# Staticcheck of the modules that test the library, and of the tests with tags.
.PHONY: lint-all
lint-all: lint $(BIN)/staticcheck
	$(STATICCHECK) $(call packages,$(filter-out $(PRODUCT) test,$(MODULES)))
	$(STATICCHECK) -tags e2e ./test/...
	@echo "staticcheck cluster"; cd cluster && GOWORK=off $(STATICCHECK) $(CLUSTER_LIGHT)

VET := $(COMPILE) $(GO) vet
vet:
	$(VET) $(call packages,$(filter-out test,$(MODULES)))
	$(VET) -tags e2e ./test/...
	@echo "vet cluster (compiles Kubernetes: minutes, the first time)"; GOWORK=off $(VET) -C cluster ./...

STATICCHECK := $(COMPILE) $(BIN)/staticcheck
staticcheck: $(BIN)/staticcheck
	$(STATICCHECK) $(call packages,$(PRODUCT))

# What others wrote is compiled first, so that tests do not run beside the compiler.
.PHONY: unit
unit:
	$(COMPILE) $(GO) build -race $$($(GO) list -deps -test -f '{{if not (or .Standard .ForTest .Module.Main)}}{{.ImportPath}}{{end}}' $(call packages,$(PRODUCT)))
	$(TEST) $(call packages,$(PRODUCT))

# The page of a Set in Chromium. Where there is none, the last line says that it was
# left out. screenshots draws the pictures of the page; docs/images has one of them.
.PHONY: browser screenshots
browser:
	$(TEST) ./test/browser/html
	$(TEST) -count=1 ./test/browser
	@for b in chromium chromium-browser google-chrome google-chrome-stable; do command -v $$b >/dev/null && exit 0; done; \
		echo "LEFT OUT: the tests of the page in a browser, for there is no chromium here (Debian: apt-get install chromium)"

screenshots:
	@mkdir -p $(BIN)/screenshots
	$(GO) test -count=1 -run '^TestPicturesOfThePage$$' ./test/browser -args -screenshots $(BIN)/screenshots
	cp $(BIN)/screenshots/page-light.png docs/images/page.png

# Tests beside controller-runtime and client-go's own informers, and of what runs
# other people's tests.
.PHONY: neighbours
neighbours: $(BIN)/kinglet-cluster
	$(TEST) $(call packages,$(NEIGHBOURS))
	$(TEST) -p 1 -tags e2e -count=1 ./test/interop/programs ./test/examples/operator -args -cluster $(BIN)/kinglet-cluster

# Promtool's tests of docs/alerts.yaml, where there is a promtool (.ci/run installs
# Debian's).
.PHONY: alerts
alerts:
	@if command -v promtool >/dev/null; then \
		promtool check rules docs/alerts.yaml && promtool test rules docs/alerts_test.yaml; \
	else echo "left out: docs/alerts_test.yaml, since there is no promtool (apt-get install prometheus)"; fi

# The random tests, of which the race detector sees an eighth, as often as they are
# meant to run, and what the page and a scrape cost without it.
MANY := ./kinglettest/torture ./internal/wire/... ./page ./prometheus
.PHONY: many
many:
	$(GOTEST) $(MANY)
	$(GOTEST) -run '^TestGuaranteeNamespacesComeAndGoExactly$$' ./test/interop/ctrlruntime -args -namespace-rounds 1000

# Each fuzz target in turn, or those whose package and name match ONLY, by a number of
# inputs: a run by the clock may end in the midst of one, which counts as a failure.
# FUZZ=1000000x for a long one. Only kinglet is compiled with coverage, so the tests are
# not started by `go test -fuzz`, which instruments all of Kubernetes as well: in profiles,
# sending its counters between the processes took most of the time.
.PHONY: fuzz
FUZZ ?= 1000x
ONLY ?= .
fuzz:
	@mkdir -p $(BIN)
	@grep -rHoE --include='*_test.go' --exclude-dir=bin '^func Fuzz[A-Za-z0-9]+' . | sort | sed 's,/[^/]*:func , ,' | grep -E '$(ONLY)' | while read -r dir func; do \
		echo "fuzz $$func in $$dir"; \
		$(GO) test -c -gcflags='github.com/kinglet-go/kinglet/...=-d=libfuzzer' -o $(BIN)/fuzz.test "$$dir" && \
		(cd "$$dir" && $(BIN)/fuzz.test -test.run '^$$' -test.fuzz "^$$func\$$" -test.fuzztime $(FUZZ) -test.fuzzminimizetime 10x \
			-test.fuzzcachedir "$$($(GO) env GOCACHE)/fuzz/$$($(GO) list .)" </dev/null) || exit 1; \
	done

# Tests that others wrote for client-go's tools/cache and util/workqueue, over
# kinglet's drop-ins: client-go's own, those of Kubernetes' libraries, and
# controller-runtime's; and controller-runtime's over ctrlruntime.
# PEERS="-suite apiserver -run Quota" for some of them; test/peers/doc.go says more.
# peers-cache is client-go's alone, which need no control plane.
# operators is the tests of cert-manager, Karpenter, Cluster API and KEDA, with kinglet and
# without it; PEERS="-suite karpenter -package termination" for some of them. PEERS=-starts
# starts KEDA and cert-manager where many objects are, and measures them.
.PHONY: peers-cache operators $(BIN)/peers
$(BIN)/peers:
	$(GO) build -o $@ ./test/peers

peers: $(BIN)/peers $(BIN)/kinglet-cluster
	cd test/peers && $(BIN)/peers -cluster $(BIN)/kinglet-cluster $(PEERS)

operators: $(BIN)/peers $(BIN)/kinglet-cluster
	cd test/peers && $(BIN)/peers -cluster $(BIN)/kinglet-cluster -suite ^operators/ $(PEERS)

peers-cache: $(BIN)/peers
	cd test/peers && $(BIN)/peers -suite ^client-go/ $(PEERS)

# The Go types of other people's API modules through the decoders, against the official ones;
# ONLY=azure for some groups of test/types/modules.txt.
.PHONY: types
types:
	$(GO) build -o $(BIN)/kinglet-types ./test/types
	$(BIN)/kinglet-types -only '$(ONLY)'

# Programs outside this repository, on three versions of Kubernetes, that require
# its modules as they would be after the next release.
.PHONY: strangers matrix tidy
strangers:
	$(COMPILE) $(GO) test -vet=off -timeout 40m -count=1 ./hack/...

# Each module with every version of Kubernetes that it says it works with, half an
# hour in all. MATRIX="-test=false" only builds and vets; MATRIX="-only 0.34" has
# the rows with that in their names.
matrix:
	$(GO) run ./hack/release/matrix $(MATRIX)

# Known vulnerabilities that are called, by govulncheck, which asks vuln.go.dev.
.PHONY: vulnerabilities
vulnerabilities: $(BIN)/govulncheck
	@for m in . workqueue cache ctrlruntime prometheus kinglettest cmd/kinglet; do echo "govulncheck $$m"; $(BIN)/govulncheck -C $$m ./... || exit 1; done

# What the modules export, beside their last tags. See hack/apidiff.
.PHONY: apidiff
apidiff: $(BIN)/apidiff
	hack/apidiff

# go mod tidy in every module of go.work.
tidy:
	hack/tidy

.PHONY: unit-cluster long-cluster
unit-cluster:
	GOWORK=off $(GO) test -C cluster -race -timeout 10m $(CLUSTER_LIGHT)
	GOWORK=off $(GO) test -C cluster -timeout 10m . ./cmd/...

long-cluster: $(BIN)/staticcheck
	cd cluster && GOWORK=off $(BIN)/staticcheck ./...
	GOWORK=off $(GO) test -C cluster -race -timeout 30m ./...

e2e: $(BIN)/kinglet-cluster
	$(TEST) -p 1 -parallel 3 -tags e2e -count=1 ./test/e2e/... ./test/examples/site -args -cluster $(BIN)/kinglet-cluster

# Random trials of an informer under random faults. TORTURE_FOR is for all of
# them: two parts of five for kinglet, two for its drop-in, one for client-go,
# each from seed 1 on, so that client-go has the first of the same plans. On top
# comes what it takes to compile, and to shrink the first two plans that fail,
# if any does. The last line sums it up.
TORTURE_FOR ?= 10m
torture:
	@mkdir -p $(BIN) && rm -f $(BIN)/torture.txt
	@$(GO) test -run '^TestNothingIsLost' -v -timeout 24h ./kinglettest/torture \
		-args -for $(TORTURE_FOR) -summary $(BIN)/torture.txt; \
	code=$$?; cat $(BIN)/torture.txt || code=1; exit $$code

# The product broken by one patch of hack/mutations after the other, each to be caught
# by the tests of its group; MUTANT=name (or a group) runs only that.
mutants:
	@hack/mutants $(MUTANT)

# Informers on a real control plane that is killed, compacted and cut off for long.
SOAK_FOR ?= 20m
soak: $(BIN)/kinglet-cluster
	$(GO) build -o $(BIN)/soak ./test/e2e/soak
	$(BIN)/soak -for $(SOAK_FOR) -cluster $(BIN)/kinglet-cluster

# Every kind of client-go's scheme, OBJECTS of each, against apimachinery's
# decoders: an hour on one core. make test takes a few of each. The tests keep
# all that they decode, to look at it again at the end, so this goes in rounds
# of 50, each with a seed of its own.
OBJECTS ?= 1000
.PHONY: long-decoders
long-decoders:
	@n=0; while [ $$n -lt $(OBJECTS) ]; do n=$$((n + 50)); \
		echo "decoders: up to $$n objects of each kind"; \
		$(GO) test -timeout 30m -run 'OfEveryKind' ./internal/wire -args -objects 50 -seed $$n || exit 1; \
	done

# Two hours in all. BENCH="-runs 1" measures each row once instead of three times;
# BENCH=-quick is a look; BENCH="-rows '^rates/'" measures some of them.
bench: $(BIN)/kinglet-cluster
	$(GO) run -C bench . -cluster $(BIN)/kinglet-cluster -json $(BIN)/bench.json $(BENCH)

demo:
	@hack/demo

clean:
	rm -rf $(BIN)
