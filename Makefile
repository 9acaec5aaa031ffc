# SPDX-License-Identifier: Apache-2.0
# Two targets are all that most people need: make demo, make test.
# Each installs or builds what it needs; make help lists the rest.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-print-directory

VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-unknown)
BIN         ?= $(CURDIR)/bin
export AIPUB_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/aipub
TOOLS       := $(AIPUB_CACHE)/tools/$(shell cat tools/go.mod tools/go.sum 2>/dev/null | sha256sum | cut -c1-12)
CLUSTER     := test/cluster/cluster.sh
LDFLAGS     := -s -w -X main.version=$(VERSION)
CONTROLLER_GEN := $(TOOLS)/controller-gen
PACKAGES    := $(shell go list ./... 2>/dev/null | grep -v /test/e2e)

.DEFAULT_GOAL := help

##@ Main

.PHONY: demo
demo: ## show the product at work: on a real Kubernetes node built here, or on the cluster of $KUBECONFIG
	@test/demo/demo.sh

.PHONY: test
test: ## everything that CI runs: checks, unit tests, the whole flow on a real Kubernetes node
	@test/need.sh linux root go gcc
	@$(CLUSTER) build
	@$(MAKE) check
	@$(MAKE) e2e
	@$(MAKE) -j2 -Otarget unit e2e-uninstall

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Build

.PHONY: build
build: ## build the binaries into bin/
	@test/need.sh go gcc
	@mkdir -p $(BIN)
	go build -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/...

.PHONY: image
image: ## build the container image with a real builder; prints the archive's path
	@test/image/build.sh

.PHONY: gpusim
gpusim: ## build the simulated GPU driver into test/gpusim/build
	@test/need.sh gcc
	@$(MAKE) -C test/gpusim

.PHONY: shim
shim: ## build the library that containers with block slices load into sharer/shim/build
	@test/need.sh gcc
	@$(MAKE) -s -C sharer/shim

.PHONY: tools
tools: $(TOOLS)/.done ## build the pinned development tools (about 6 minutes the first time)

$(TOOLS)/.done:
	@test/need.sh go
	@echo "building development tools (controller-gen, golangci-lint, govulncheck) into $(TOOLS): 3-6 minutes, once"
	@mkdir -p $(TOOLS)
	@cd tools && GOWORK=off GOBIN=$(TOOLS) go install tool
	@touch $@

##@ Check

.PHONY: check
check: verify lint vuln ## generated files, format, vet, lint, known vulnerabilities

.PHONY: generate
generate: $(TOOLS)/.done ## regenerate deepcopy functions, CRDs and the tables in docs/
	@$(CONTROLLER_GEN) object paths=./api/...
	@$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=charts/aipub/files/crds

.PHONY: verify
verify: generate ## regenerate, then fail when anything differs from what is committed
	@git diff --exit-code -- api charts/aipub/files docs || { echo "generated files differ: run make generate and commit the result"; exit 1; }
	@test -z "$$(git ls-files --others --exclude-standard -- api charts/aipub/files)" || { echo "generated files are not committed: run make generate and commit the result"; exit 1; }
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "the files above are not formatted: run gofmt -w"; exit 1; }
	@go mod verify >/dev/null && go mod tidy -diff >/dev/null || { echo "go.mod is not tidy: run go mod tidy"; exit 1; }

.PHONY: lint
lint: $(TOOLS)/.done ## golangci-lint and go vet
	@go vet ./...
	@$(TOOLS)/golangci-lint run --allow-parallel-runners ./...

.PHONY: vuln
vuln: $(TOOLS)/.done ## known vulnerabilities in what the binaries call (says so when the database cannot be reached)
	@test/vuln.sh $(TOOLS)/govulncheck

##@ Test

.PHONY: unit
unit: envtest-assets gpusim-test shim-test ## unit tests, race detector on, with a real kube-apiserver for webhooks and CRDs
	assets=$$($(CLUSTER) assets); KUBEBUILDER_ASSETS=$$assets HELM=$$assets/helm go test -race $(PACKAGES)
	cd test/cluster && GOWORK=off CGO_ENABLED=0 go test ./...

.PHONY: gpusim-test
gpusim-test: ## the simulator's own C tests, under ASan and UBSan
	@$(MAKE) -C test/gpusim ctest

.PHONY: shim-test
shim-test: gpusim-test ## the preloaded library on the simulated GPU: limits, crashes, every CUDA version's symbols
	@$(MAKE) -C sharer/shim test

.PHONY: old-glibc
old-glibc: shim ## the preloaded library in the oldest Debian that the mirror serves, and with musl (root)
	@test/oldglibc/run.sh

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (default 20s)
	@test/fuzz.sh $(or $(FUZZTIME),20s)

.PHONY: e2e
e2e: node-up old-glibc ## the whole flow on a real kube-apiserver, kubelet and containerd with simulated GPUs
	KUBECONFIG="$$($(CLUSTER) kubeconfig)" go test -tags e2e -count=1 -timeout 40m -v ./test/e2e

.PHONY: e2e-uninstall
e2e-uninstall: ## helm uninstall on that node, which leaves nothing behind; 6 minutes, the kubelet's grace
	KUBECONFIG="$$($(CLUSTER) kubeconfig)" go test -tags e2e -count=1 -timeout 20m -v ./test/e2e/uninstall

.PHONY: kueue
kueue: node-up ## sets under Kueue itself and under a plain ResourceQuota, on that node (builds Kueue once)
	@test/kueue/run.sh

.PHONY: bench
bench: ## the figures of docs/benchmarks.md; FIGURES='node.*' chooses
	@test/bench/run.sh $(FIGURES)

.PHONY: gpu-checks
gpu-checks: shim ## the sharer with real processes on this machine's GPU, without a cluster (docs/gpu-checks.md)
	@test/bench/gpucheck/run.sh $(FIGURES)

##@ Cluster

.PHONY: envtest-assets
envtest-assets: ## build kube-apiserver, etcd, kubelet, containerd and helm (15 minutes the first time)
	@test/need.sh linux root go gcc
	@$(CLUSTER) build

.PHONY: cluster-up
cluster-up: ## start a real Kubernetes node on this machine; prints the kubeconfig's path
	@test/need.sh linux root go gcc
	@$(CLUSTER) up

.PHONY: node-up
node-up: ## cluster-up, three simulated H200, the image and the chart
	@test/need.sh linux root go gcc
	@test/e2e/up.sh

.PHONY: cluster-down
cluster-down: ## stop all that cluster-up, node-up and demo started
	@test/e2e/down.sh

.PHONY: clean
clean: ## remove what was built in the tree (the cache stays: rm -r $AIPUB_CACHE)
	rm -rf $(BIN) test/gpusim/build sharer/shim/build test/bench/shim/build test/bench/out
