# make demo       everything from nothing: cluster, operator, router, benchmark, result
# make test       everything that must pass
# make demo-down  remove the demo's cluster and whatever it left
#
# "make help" lists the rest. Nothing is installed outside .cache and .state but
# Debian packages that are missing.

SHELL := /bin/bash
.DEFAULT_GOAL := help

export NODROP_ROOT  := $(CURDIR)
export NODROP_CACHE ?= $(CURDIR)/.cache
export NODROP_STATE ?= $(CURDIR)/.state/cluster
export KUBEBUILDER_ASSETS := $(NODROP_CACHE)/k8s/bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

NODROP    := $(NODROP_CACHE)/bin/nodrop
TOOLS     := $(NODROP_CACHE)/tools
TIMES     := $(CURDIR)/.state/times
# Each run of tests has a file of times, for hack/stage.
GOTESTSUM  = mkdir -p $(TIMES) && $(TOOLS)/gotestsum --format testname --hide-summary output --jsonfile-timing-events $(TIMES)/$@$(1).json --
# What go vet finds make lint finds, and no test reads debugging information or symbols, which take a sixth of the time of linking.
GOTEST_BUILD := -vet=off -ldflags="-s -w"
# All of make test compiles the packages once, whatever the folder of the clone: go build and go test differ in no flag
# that the compiler sees.
export CGO_ENABLED ?= 0
export GOFLAGS := $(GOFLAGS) -trimpath
# Tests that repeat what is rare do so less often with -short; make test-long does not.
SHORT     := -short
# These send real frames and share two processors with the device: one at a time. Tests of
# the commands that send no frames are part of make logic (NODROP_ONLY).
REAL_FRAMES := ./internal/traffic/xdp/... ./internal/traffic/agent/... ./internal/dut/...
# These of them configure and read devices, mostly wait, and send no test frames: eight at a time.
DEVICES     := ./internal/dut/configure/... ./internal/dut/telemetry/... ./internal/dut/machine/...

# A test of other packages that finds a microsecond or two of a router: next to other tests it finds theirs. It is run with make frames.
QUIET_TESTS    := '^TestShortRequestsOverARouter$$'
QUIET_PACKAGES := ./internal/workload/kernelstack

include hack/cluster/cluster.mk

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  \1\t/' | expand -t 20

.PHONY: demo
demo: ## cluster, operator, router, one benchmark, the result; leaves the cluster up; METRICS=1 adds an InfluxDB
	@hack/demo

.PHONY: demo-down
demo-down: ## remove the demo's cluster and its InfluxDB; what was built is kept in .cache
	@hack/metrics down
	@hack/cluster/down

.PHONY: build
build: $(NODROP) ## build the binary (also linked as kubectl-nodrop)

.PHONY: $(NODROP)
$(NODROP):
	@mkdir -p $(dir $@)
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X nodrop.dev/nodrop/internal/base/version.Version=$(VERSION)" -o $@ ./cmd/nodrop
	@ln -sf nodrop $(dir $@)kubectl-nodrop

# What sends real frames has the processors for itself: next to the tests of the cluster a test of
# routes that flap failed. Tests that wait for an API server run out of time next to the cluster.
.PHONY: test
test: ## everything that must pass; what takes long is repeated less often, or left to make test-long
	@hack/stage begin
	@hack/stage "tools" $(MAKE) --no-print-directory test-tools
	@hack/stage "logic" $(MAKE) --no-print-directory logic-waits
	@$(MAKE) --no-print-directory -j3 test-aside test-devices test-cluster
	@hack/stage "real frames" $(MAKE) --no-print-directory frames
	@hack/stage report

# Emulated machines and pods leave the processors idle for a part of the time. What only computes gets only that part.
# Frames are sent when it has ended, since a second program on a processor changes what they measure. These tests of the
# cluster are last and wait for that, too.
QUIET := '^Test(Router|Incast)\b'
.PHONY: test-aside test-devices test-cluster
test-aside:
	@hack/stage "computing, at the same time" chrt --idle 0 $(MAKE) --no-print-directory -j1 logic-computes lint
test-devices:
	@hack/stage "old kernels and devices" $(MAKE) --no-print-directory -j2 kernels-load devices
test-cluster:
	@hack/stage "cluster" $(MAKE) --no-print-directory e2e E2E="-test.short -test.skip $(QUIET) -- -test.short -test.run $(QUIET)"

.PHONY: test-long
test-long: test-tools ## the tests of make test in full length, and those that it leaves out
	$(MAKE) --no-print-directory -j1 SHORT= logic devices frames
	$(MAKE) --no-print-directory -j1 race
	$(MAKE) --no-print-directory -j1 frames-afxdp
	$(MAKE) --no-print-directory -j1 e2e E2E='-test.skip ^TestRouter$$$$'
	$(MAKE) --no-print-directory -j1 ground-truth
	$(MAKE) --no-print-directory -j1 telemetry-cost
	$(MAKE) --no-print-directory -j1 histories

.PHONY: test-tools
test-tools: cluster-build
	@hack/tools/build
	@hack/minio/build
	@hack/influxdb/build
	@hack/prometheus/build
	@hack/openssh/build
	@hack/netconf/build
	@hack/snmpd/build
	@hack/gnxi/build
	@hack/openvswitch/build
	@hack/fakenos/build
	@hack/grafana/build
	@hack/kueue/build
	@hack/chromium/install
	@hack/site/build
	@hack/vm/install
	@hack/vm/prepare $(OLD_KERNELS)

.PHONY: lint
lint: test-tools ## golangci-lint over every module of ours, and the terms of comments, messages and pages
	@cd hack && go build -o $(TOOLS)/terms ./terms
	@$(TOOLS)/terms api charts cmd config controllers docs e2e hack internal README.md
	@hack/lint

.PHONY: unit
unit: logic devices frames ## all tests but those of make e2e

# The packages that wait long or take most time. They begin first, so that none is alone at the end.
LONG_LOGIC := ./internal/workload/kernelstack ./controllers ./cmd/nodrop ./config ./controllers/histories ./internal/traffic/trex ./internal/manifests/admission ./controllers/operator \
	./internal/manifests/manifest ./internal/lab/labpage ./internal/reporting/dashboards ./internal/reporting/archive ./internal/reporting/metrics/recorder
# Tests of the other packages in these folders only compute: they start no server, and wait for nothing.
COMPUTES   := ./internal/measure/... ./internal/manifests/... ./internal/reporting/... ./internal/lab/... ./internal/workload/tcpmodel ./docs/...

.PHONY: logic logic-waits logic-computes
logic: logic-waits logic-computes ## logic, and controllers against a real API server

# Many of these wait for an API server: four at a time keep two processors busy. With the default of GOGC simulations
# take half as long again.
TEST_LOGIC = export NODROP_ONLY=logic GOGC=400; $(call GOTESTSUM) $(SHORT) $(GOTEST_BUILD) -timeout 20m -parallel 4 -skip $(QUIET_TESTS)

logic-waits: test-tools
	$(TEST_LOGIC) $(LONG_LOGIC) $$(go list ./... | grep -vFx -f <(go list $(REAL_FRAMES) $(COMPUTES)))

# Tests of hack read files of the other module, so that their results are not cached.
logic-computes: test-tools
	$(TEST_LOGIC) $$(go list $(COMPUTES) | grep -vFx -f <(go list $(LONG_LOGIC)))
	cd hack && $(call GOTESTSUM,-hack) $(GOTEST_BUILD) -count=1 -timeout 10m ./...

# The database of known vulnerabilities is not in the module proxy: make test and make lint do without.
.PHONY: vulncheck
vulncheck: ## known vulnerabilities in code that is called (needs https://vuln.go.dev)
	@cd hack/vulncheck && CGO_ENABLED=0 go build -o $(TOOLS)/govulncheck golang.org/x/vuln/cmd/govulncheck
	$(TOOLS)/govulncheck ./...
	cd hack && $(TOOLS)/govulncheck ./...

# Tests that fail with the race detector for another reason than a race of ours: one measures memory, of which it needs more, one
# passes data through the kernel, which orders reads and writes without its knowledge, and one of them needs a quiet machine. GoBGP, the
# peer in tests of two packages, writes variables of its package when another router starts.
RACE_SKIPS := '^(TestMemoryOfATeam|TestHostsShareAPort|TestShortRequestsOverARouter)$$'
GOBGP_PEERS := ./internal/routing/bgp ./internal/routing/remote
.PHONY: race
race: test-tools ## the tests of make logic with -short and the race detector (needs gcc)
	export NODROP_ONLY=logic CGO_ENABLED=1; $(call GOTESTSUM) -race -short -skip $(RACE_SKIPS) $(GOTEST_BUILD) -timeout 60m -parallel 4 \
	  $$(go list ./... | grep -vFx -f <(go list $(REAL_FRAMES) $(GOBGP_PEERS)))

.PHONY: devices
devices: test-tools ## emulated machines, and drivers that configure and read real devices, without test frames
	$(call GOTESTSUM) $(SHORT) $(GOTEST_BUILD) -timeout 20m -p 8 $(DEVICES)

.PHONY: frames
frames: test-tools ## engines, devices and commands on real interfaces
	$(call GOTESTSUM,-quiet) $(SHORT) $(GOTEST_BUILD) -run $(QUIET_TESTS) $(QUIET_PACKAGES)
	export NODROP_ONLY=frames; $(call GOTESTSUM) $(SHORT) $(GOTEST_BUILD) -timeout 20m -p 1 -parallel 6 $$(go list $(REAL_FRAMES) | grep -vFx -f <(go list $(DEVICES))) ./cmd/nodrop/...

.PHONY: ground-truth
ground-truth: test-tools ## 20 pairs of device and tester by each method, on real frames, whose true answers are known (95 min)
	NODROP_TRUTH_PAIRS=20 go test $(GOTEST_BUILD) -count=1 -timeout 120m -v ./internal/dut/groundtruth -run '^TestRealRowsAreRightOrMarked$$'
	NODROP_TRUTH_PAIRS=20 go test $(GOTEST_BUILD) -count=1 -timeout 120m -v ./cmd/nodrop -run '^TestRealRoutesAreRightOrMarked$$'

.PHONY: frames-afxdp
frames-afxdp: test-tools ## the tests of the engine xdp through AF_XDP sockets
	export NODROP_XDP_TRANSMIT=AFXDP; $(call GOTESTSUM) $(GOTEST_BUILD) -short -timeout 20m -p 1 -parallel 4 ./internal/traffic/xdp

# Kernels that every test run loads the BPF programs on, in emulated machines.
OLD_KERNELS := debian12 debian13

.PHONY: kernels-load
kernels-load: test-tools ## load the BPF programs on the kernels of Debian 12 and 13, in emulated machines
	@mkdir -p $(NODROP_CACHE)/vm
	CGO_ENABLED=0 go test -c $(GOTEST_BUILD) -o $(NODROP_CACHE)/vm/xdp.test ./internal/traffic/xdp
	@for kernel in $(OLD_KERNELS); do VM_CARD=none hack/vm/run $$kernel \
	  $(NODROP_CACHE)/vm/xdp.test -test.run '^TestProgramsLoad$$' -test.v || exit 1; done

.PHONY: test-kernels
test-kernels: cluster-build ## NoDrop on the kernels and emulated cards of docs/kernels.md, and its tables (hours); MATRIX has arguments, as -kernels debian12 -checks vlan
	@hack/vm/install
	cd hack && go run ./vm/matrix -write $(CURDIR)/docs/kernels.md $(MATRIX)

.PHONY: histories
histories: cluster-build ## 10,000 random histories of the operator in simulated time, 200 on a real API server
	HISTORIES_SIMULATED=10000 HISTORIES_REAL=200 GOGC=400 go test -v -count=1 -timeout 6h ./controllers/histories

FUZZTIME ?= 1h
.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (1h); make test runs their seeds
	@hack/fuzz $(FUZZTIME)

.PHONY: lab-sim
lab-sim: cluster-build ## 1,500 and 15,000 benchmarks on 200 beds, and 400 and 4,000 on 20, without pods, with and without a LabPolicy: admissions per second, memory, requests; errors of expected starts; how long a preemption takes
	NODROP_LAB_SIM=1500,15000,400x20,4000x20 NODROP_LAB_ESTIMATES=400x20 NODROP_LAB_PREEMPTION=4000x20 \
		go test ./controllers -run '^TestMeasure(Lab|Estimates|Preemption)$$' -count=1 -v -timeout 90m

HOSTILE ?= 60s,2
.PHONY: hostile
hostile: cluster-build ## ten honest teams without and with a hostile team, without pods; HOSTILE is time and rounds (60s,2), and unlimited or a number of hostile teams (60s,2,5): 8 min
	NODROP_HOSTILE=$(HOSTILE) go test ./controllers -run '^TestMeasureHostileTeam$$' -count=1 -v -timeout 60m

.PHONY: hostile-cluster
hostile-cluster: HOSTILE = 45s,2
hostile-cluster: ## the same on a local cluster, with pods and the operator of the chart; HOSTILE is as above (45s,2), with one hostile team: 10 min
	NODROP_HOSTILE=$(HOSTILE) hack/e2e -test.run '^TestMeasureHostileTeam$$'
.PHONY: largest
largest: cluster-build ## memory of the operator while two results end that are as large as preflight allows, and are archived, compared and shown (30 min)
	NODROP_LARGEST=20000x3072,2500x25600 go test ./controllers -run '^TestMeasureLargest$$' -count=1 -v -timeout 120m

.PHONY: queue-load
queue-load: cluster-build ## how long kubectl nodrop queue takes with 4,000 waiting benchmarks, and its memory
	NODROP_QUEUE_LOAD=4000 go test ./cmd/nodrop -run '^TestMeasureQueue$$' -count=1 -v -timeout 10m

.PHONY: kueue-sim
kueue-sim: test-tools ## the real Kueue with its fair sharing and our model of it on the same trace, in simulated time (10 min)
	NODROP_KUEUE_SIM='24 6 1500' go test ./internal/lab/labsim -run '^TestMeasureKueue$$' -count=1 -v -timeout 60m

.PHONY: metrics-load
metrics-load: test-tools ## points per second into InfluxDB, and what metrics cost a run: eleven pairs of runs
	NODROP_METRICS_LOAD=11 go test ./cmd/nodrop -run '^TestMeasure(Sink|MetricsCost)' -count=1 -v -timeout 20m

.PHONY: telemetry-cost
telemetry-cost: test-tools ## what readings of the device in each second cost by SNMP, SSH and gNMI; needs a quiet machine (12 min)
	NODROP_TELEMETRY_COST=80 go test $(GOTEST_BUILD) ./cmd/nodrop -run '^TestMeasure(Reading|Telemetry)Cost$$' -count=1 -v -timeout 30m

.PHONY: dashboards-pictures
dashboards-pictures: ## draw the dashboards for docs/dashboards.md (needs network for npm and Debian packages)
	@hack/influxdb/build
	@hack/dashboards/draw

.PHONY: report-pictures
report-pictures: build ## draw the reports for docs/report-formats.md from samples
	@hack/reports/pictures

.PHONY: page-pictures
page-pictures: ## draw the pages for docs/lab-page.md (needs the Debian package chromium-headless-shell)
	NODROP_PICTURES=$(CURDIR)/docs/pictures go test ./internal/lab/labpage -run '^TestPictures$$' -count=1 -v

.PHONY: e2e
e2e: cluster-build ## a real cluster with a real router; taken down afterwards; E2E has arguments of the tests
	@hack/openssh/build
	@hack/e2e $(E2E)

.PHONY: test-sriov
test-sriov: ## pods with virtual functions, on a node in an emulated machine (8 to 20 min)
	@hack/vm/test-sriov

.PHONY: site
site: ## the documentation site in .state/site; open index.html there
	@hack/site/build
	@mkdir -p $(NODROP_CACHE)/site
	go build -ldflags=-w -tags standalone -o $(NODROP_CACHE)/site/nodrop ./cmd/nodrop
	cd hack && go run ./site -out $(CURDIR)/.state/site -hugo $(TOOLS)/hugo -nodrop $(NODROP_CACHE)/site/nodrop

.PHONY: release
release: ## the artifacts of a release in .state/release/dist, as docs/releasing.md describes; uploads nothing (11 min the first time)
	@hack/release/build

.PHONY: test-release
test-release: ## test the artifacts that make release has made, alone and in a local cluster; EARLIER=DIST also upgrades from the artifacts of a release
	cd hack && NODROP_RELEASE_DIST=$(CURDIR)/.state/release/dist go test -count=1 -vet=off -tags release -timeout 20m -v ./release -run '^TestArtifact'
	@hack/release/test-cluster .state/release/dist $(EARLIER)

.PHONY: generate
generate: ## CRDs, deep copies, protobuf and BPF objects (needs clang, libbpf-dev, protobuf-compiler)
	go generate ./...
