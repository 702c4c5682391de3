# Gale: run `make` to see the targets.
GO      ?= go
PKGS    ?= ./...
# The packages that have the tests of package gale.
GALE    := . $(addprefix ./tests/,server client h2 files message)
FUZZTIME ?= 30s
COUNT   ?= 3
BENCH   ?= .
BENCHTIME ?= 200ms
CPU     ?= 1,2
# For release: by default the tag of the commit.
VERSION ?=
# TABLE=-md prints the ratios as Markdown.
TABLE   ?=
OLD     ?= bench-old.txt
NEW     ?= bench-new.txt

.DEFAULT_GOAL := help
.PHONY: help build test race foreign differential fiber steps fuzz bench bench-tcp bench-check bench-baseline bench-generators benchstat cover lint galevet fmt release vuln cross stats docs check

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
build: ## compile everything, the benchmarks' module too
	$(GO) build $(PKGS) && cd bench && $(GO) vet ./...
test: ## run all tests
	$(GO) test $(PKGS)
race: ## run all tests with the race detector
	$(GO) test -race $(PKGS)
foreign: ## look for foreign bytes, with pools that hand out at random
	GALE_FOREIGN_REQUESTS=60000 $(GO) test -tags randompools -run 'TestNothingForeign|TestNoForeignBytes|Forget|RandomPool' $(GALE) ./internal/... ./adaptor ./stackless
differential: ## compare with fasthttp and net/http as black boxes
	cd tests/differential && $(GO) test ./...
fiber: ## compare applications of Fiber on Gale with the same on fasthttp
	cd tests/fiber && GALE_FULL=1 $(GO) test -count 1 .
steps: ## prove that the work for what peers send is linear, by counting steps
	@dir=$$(mktemp -d) && $(GO) run ./tests/steps/instrument $$dir && $(GO) test -overlay $$dir/overlay.json -tags galesteps -vet off ./tests/steps; rc=$$?; rm -rf "$$dir"; exit $$rc
fuzz: ## run every fuzz target for FUZZTIME each
	@GO="$(GO)" scripts/fuzz.sh $(FUZZTIME)
bench: ## compare gale, fasthttp and net/http in COUNT rounds, with ratios
	@cd bench && for round in $$(seq $(COUNT)); do \
		$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -cpu $(CPU) -timeout 4h . || echo FAIL; \
	done | $(GO) run ./cmd/table -v $(TABLE)
bench-tcp: ## compare the CPU that servers use per request over loopback
	@cd bench && $(GO) run ./tcp && $(GO) run ./tcp -servers gale-block,fasthttp,nethttp && $(GO) run ./tcp -http2 && $(GO) run ./tcp -http2 -tls
bench-check: ## compare with the stored benchmarks, fail if something allocates more
	@cd bench && $(GO) run ./cmd/check
bench-baseline: ## store the benchmarks that bench-check compares with
	@cd bench && $(GO) run ./cmd/check -write
bench-generators: ## compare gale bench with the load generators that are installed
	@cd bench && $(GO) run ./generators
benchstat: ## compare two saved runs, OLD and NEW
	$(GO) run golang.org/x/perf/cmd/benchstat@latest $(OLD) $(NEW)
cover: ## show test coverage by function
	$(GO) test -coverpkg=./... -coverprofile=cover.out $(PKGS) && $(GO) tool cover -func=cover.out
lint: ## run vet, staticcheck and, where installed, golangci-lint
	$(GO) vet $(PKGS) && staticcheck $(PKGS) && { ! command -v golangci-lint >/dev/null || golangci-lint run; }
galevet: ## look for values of requests that are kept too long
	scripts/galevet.sh
fmt: ## format all Go files
	gofmt -s -w $$(git ls-files '*.go')
release: ## build and pack the command for all systems into dist/, as VERSION
	@GO="$(GO)" scripts/release.sh $(VERSION)
vuln: ## look for known vulnerabilities in dependencies
	$(GO) run golang.org/x/vuln/cmd/govulncheck@latest $(PKGS)
cross: ## compile for the other systems and processors
	@scripts/cross.sh
stats: ## show sizes of files, functions and comments
	@$(GO) run ./scripts/stats
docs: ## show the documentation of the root package
	$(GO) doc -all . | less
check: ## what to run before a commit: format, vet, staticcheck, tests
	@bad=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "not formatted: $$bad"; exit 1; }
	$(GO) vet $(PKGS)
	@! command -v staticcheck >/dev/null || staticcheck $(PKGS)
	$(GO) test $(PKGS)
