# Everything that is done to this tree. "make help" lists it.
#
# The modules: the root (the library), daemon (the service), cmd/snowfence (the program), one for each
# engine that needs a client library, api/snowfencev1 (the client of gRPC), bench (the
# measurements), examples and tools (the linter, grpcurl, what writes api/snowfencev1, and the
# checks of the house; tools/manifests tests deploy/kubernetes, tools/servers has servers for tests). All but the last
# three stand in go.work. Those are built on their own; a library that they share with cmd/snowfence has the same version
# there, so that it is compiled once. The linter's libraries alone are apart.

GO = go

# What "make chaos" does to an engine: faults, ids to collect at the least, and daemons.
# An empty ENGINE means all of them, one after the other.
ENGINE =
FAULTS = 120
IDS = 15000000
SUBJECTS = 3

# The engines of "make lending".
BORROWED = file,etcd,postgres,postgres-lossy

# How many schedules "make sim" simulates, and from which seed on it and "make soak" do.
SEEDS = 5000
FROM = 0

# What "make vulnerabilities" asks. A copy may be a folder: file:///FOLDER.
DATABASE = https://vuln.go.dev

# Tests of real servers are built with this tag.
TAGS = -tags servers

# Tests are compiled with the flags of "make build", so each package is compiled once. Only the race detector needs C.
# Nothing has debug information of DWARF: compiling it takes a seventh longer, and stack traces need none.
export CGO_ENABLED = 0
BUILT = -trimpath -gcflags=all=-dwarf=false
export GOFLAGS := $(filter-out $(BUILT),$(GOFLAGS)) $(BUILT)

# "make lint" vets.
TEST = $(GO) test -vet=off -ldflags=-w
RACE = CGO_ENABLED=1 $(TEST) -race

# The release that "make release" makes: its version, the key that signs it, and what it is built for.
# An empty PLATFORMS means all of them.
export VERSION KEY SIGN PLATFORMS

# How long each fuzz target runs under "make fuzz".
FUZZTIME = 20s

# The modules of the engines.
ENGINES = store/etcdstore store/zkstore store/redisstore store/natsstore store/kubernetesstore

# The API server of Kubernetes.
KUBERNETES = .bin/kube-apiserver-1.37.2

# Current servers, beside those of Debian.
CURRENT = .bin/etcd-3.7.3 .bin/nats-server-2.15.2

# Where "make generate" writes the folder snowfencev1.
STUBS = api

# Programs that the tests need besides Go, and the Debian packages they are in:
# a C compiler for the race detector, and the real servers.
NEEDED = gcc=gcc,libc6-dev etcd=etcd-server redis-server=redis-server \
	nats-server=nats-server '/usr/share/zookeeper/bin/zkServer.sh=zookeeper' \
	'initdb|/usr/lib/postgresql/*/bin/initdb=postgresql' \
	'pgbouncer|/usr/sbin/pgbouncer=pgbouncer' \
	'mariadbd|/usr/sbin/mariadbd=mariadb-server' sqlite3=sqlite3 \
	'nginx|/usr/sbin/nginx=nginx' /usr/lib/nginx/modules/ngx_stream_module.so=libnginx-mod-stream \
	'haproxy|/usr/sbin/haproxy=haproxy' \
	thrift=thrift-compiler,python3-thrift curl=curl \
	redis-cli=redis-tools node=nodejs npm=npm javac=default-jdk-headless \
	gunicorn=gunicorn ruby=ruby '/usr/share/rubygems-integration/all/gems/redis-*=ruby-redis' \
	/usr/lib/python3/dist-packages/redis/client.py=python3-redis \
	php=php-cli '/usr/lib/php/*/redis.so=php-redis' /usr/share/php/Predis/autoload.php=php-nrk-predis \
	/usr/include/hiredis/hiredis.h=libhiredis-dev lua5.1=lua5.1 /usr/share/lua/5.1/redis.lua=lua-redis \
	chromium=chromium prometheus=prometheus promtool=prometheus

# Clients that "make clients" alone runs.
CLIENTS = /usr/lib/php/Base/TBase.php=php-thrift /usr/include/thrift/Thrift.h=libthrift-dev,libboost-dev,g++ \
	/usr/share/java/thrift.jar=libthrift-java /usr/share/perl5/Redis.pm=libredis-perl ghc=ghc,libghc-hedis-dev \
	/usr/share/lua/5.1/nginx/redis.lua=lua-nginx-redis,libnginx-mod-http-lua \
	grpc_python_plugin=protobuf-compiler-grpc,protobuf-compiler,python3-grpcio

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build the program into .bin/snowfence: one static file, the same bytes in every folder
	@$(GO) build -buildvcs=auto -o .bin/snowfence ./cmd/snowfence

.PHONY: release
release: ## archives, image, sums and signatures of the last commit into .bin/release: make release VERSION=v0.1.0 KEY=FILE, or SIGN=no
	@tools/release.sh

.PHONY: reproducible
reproducible: ## build the last commit and its release twice, in two folders and with two caches, and compare; takes some minutes
	@tools/reproducible.sh

# What uses goroutines of its own runs under the race detector too; under it pools drop what they
# hold at random, so that allocations can't be counted. Schedules on the model disk have one goroutine.
# Tests on real servers run once: those of the engines under the detector, the others without it,
# because they watch other processes.
RACED = . ./client ./cmd/snowfence/forensics/idsort ./counter/... ./fence ./internal/disk/... ./internal/journal ./internal/lease/... ./internal/storeclient ./store/... \
	$(patsubst %,./%/...,$(filter-out store/kubernetesstore,$(ENGINES))) $$($(GO) list ./daemon ./daemon/builtin ./daemon/internal/... | grep -v -e /sqltest$$ -e /lineartest$$)

.PHONY: test
test: ## what needs Go alone: units, the stores in memory and in a folder, 1,000 schedules, mutants, killed processes; some 5 minutes once all is compiled
	@$(TEST) -p 3 -timeout 20m ./internal/mutants ./internal/sim ./cmd/snowfence/... ./daemon/... ./...

.PHONY: test-servers
test-servers: .bin/grpcurl $(CURRENT) ## real servers and clients, and the race detector; some 20 minutes
	@tools/need.sh $(NEEDED)
	@$(TEST) $(TAGS) -p 3 -timeout 30m $$(tools/served.sh cmd daemon)
	@$(RACE) $(TAGS) -p 3 -timeout 30m -skip 'Allocate|OutlivesIt(By|sStore)|OnTheModelDisk|PowerLossAtAnyStep' $(RACED)
	@$(MAKE) current
	@$(RACE) -run '^TestScripts/serve' ./cmd/snowfence
	@$(TEST) -tags faultclock ./cmd/snowfence/internal/clock
	@cd bench && GOWORK=off $(GO) test ./...
	@$(MAKE) examples

.PHONY: test-kubernetes
test-kubernetes: $(KUBERNETES) ## the engine and deploy/kubernetes on a real kube-apiserver, under the race detector; some minutes, and the first time some more to build it
	@tools/need.sh gcc=gcc,libc6-dev etcd=etcd-server
	@$(RACE) $(TAGS) -timeout 30m ./store/kubernetesstore/...
	@cd tools/manifests && GOWORK=off $(GO) test $(TAGS) -count=1 -timeout 10m .

.PHONY: programs
programs: .bin/golangci-lint $(KUBERNETES) ## build the linter and kube-apiserver into .bin, once; takes some minutes

# The versions in the names of servers are those of tools/servers/go.mod.
$(KUBERNETES): PROGRAM = k8s.io/kubernetes/cmd/kube-apiserver
.bin/etcd-3.7.3: PROGRAM = go.etcd.io/etcd/server/v3
.bin/nats-server-2.15.2: PROGRAM = github.com/nats-io/nats-server/v2
$(KUBERNETES) $(CURRENT): tools/servers/go.mod tools/servers/go.sum
	@echo "building $(PROGRAM), once"
	@cd tools/servers && GOWORK=off $(GO) build -o ../../$@ \
		-ldflags='-s -w -X k8s.io/component-base/version.gitVersion=v1.37.2 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37' \
		$(PROGRAM)
	@touch $@

.PHONY: current
current: $(CURRENT) ## the rules of engines on current servers: etcd 3.7 and NATS 2.15
	@SNOWFENCE_TEST_PROGRAM_ETCD=$(CURDIR)/.bin/etcd-3.7.3 SNOWFENCE_TEST_PROGRAM_NATS_SERVER=$(CURDIR)/.bin/nats-server-2.15.2 \
		$(GO) test -count=1 -timeout 30m -run KeepsEveryRule ./store/etcdstore ./store/natsstore

.PHONY: clients
clients: .bin/grpcurl ## run the snippets of docs/clients.md, and longer conversations by the same clients
	@tools/need.sh $(NEEDED) $(CLIENTS)
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestSnippets|^TestClientsConverse|^TestClientsShow' -count=1 -v . -clients.all

.PHONY: examples
examples: ## test the programs in examples: 100,000 rows each, by database/sql and GORM
	@tools/need.sh $(NEEDED)
	@cd examples && GOWORK=off $(GO) test ./...

.PHONY: lint
lint: tools cross ## the linters over every module, and the checks of the house
	@$(MAKE) generate STUBS=.bin/stubs
	@diff -u -I '^//.*protoc' -x doc.go -x 'go.*' -x '*.proto' api/snowfencev1 .bin/stubs/snowfencev1
	@.bin/golangci-lint run --build-tags servers ./...
	@for module in $(ENGINES); do (cd $$module && ../../.bin/golangci-lint run --build-tags servers ./...) || exit 1; done
	@cd daemon && ../.bin/golangci-lint run --build-tags servers ./...
	@cd cmd/snowfence && ../../.bin/golangci-lint run --build-tags servers ./...
	@cd cmd/snowfence && ../../.bin/golangci-lint run --build-tags faultclock,servers ./internal/clock
	@cd bench && GOWORK=off ../.bin/golangci-lint run --build-tags servers ./...
	@cd examples && GOWORK=off ../.bin/golangci-lint run --build-tags servers ./...
	@cd tools && GOWORK=off ../.bin/golangci-lint run --build-tags servers ./...
	@cd tools/manifests && GOWORK=off ../../.bin/golangci-lint run --build-tags servers ./...
	@GOWORK=off $(GO) mod tidy -diff
	@for module in $(ENGINES) api/snowfencev1 daemon cmd/snowfence; do (cd $$module && GOWORK=off $(GO) mod tidy -diff) || exit 1; done
	@cd bench && GOWORK=off $(GO) mod tidy -diff
	@cd examples && GOWORK=off $(GO) mod tidy -diff
	@cd tools/manifests && GOWORK=off $(GO) mod tidy -diff
	@cd tools && GOWORK=off $(GO) test -count=1 ./...
	@$(MAKE) words >/dev/null

.PHONY: cross
cross: ## vet the code that differs between operating systems on each of them
	@for system in darwin windows; do GOOS=$$system $(GO) vet ./internal/disk ./internal/journal ./store/filestore || exit 1; done
	@cd cmd/snowfence && for system in darwin windows; do GOOS=$$system $(GO) vet ./internal/wrap || exit 1; done

.PHONY: mutants
mutants: ## show that each deliberate bug is caught, in the lease protocol and in the source
	@tools/need.sh $(NEEDED)
	@$(GO) test $(TAGS) ./internal/sim ./internal/mutants ./fence/... -run Mutants -count=1 -timeout 60m -v

.PHONY: sim
sim: ## simulate SEEDS (5000) schedules of faults; a failure prints its seed and a scenario to replay
	@$(GO) run ./internal/sim/simulate -seeds $(SEEDS) -from $(FROM)
	@$(GO) test ./internal/sim/counters -count=1 -timeout 60m -v -seeds $(SEEDS) -from $(FROM)

.PHONY: incidents
incidents: ## the incidents of the field, usual allocators beside ours, into docs/incidents.md
	@cd bench && GOWORK=off $(GO) run ./incident -page ../docs/incidents.md

.PHONY: model
model: ## search every schedule of the lease protocol in a small world, and catch each bug put into it
	@tools/need.sh gcc=gcc,libc6-dev spin=spin
	@formal/model.sh

.PHONY: crash
crash: ## four processes on one file store, killed and restarted, one with its clock set back
	@cd cmd/snowfence && $(GO) test -run '^TestCrashes' -count=1 -timeout 20m -v . -crash.rounds 20 -crash.ids 20000000

.PHONY: client
client: ## ten million ids by the Go client, by each of its ways, while its servers are killed; some minutes
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestClientOutlives' -count=1 -timeout 60m -v . -client.ids 10000000

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (20s)
	@tools/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## measure this generator beside its peers, and fail where a goal is missed; takes some minutes
	@cd bench && GOWORK=off $(GO) run .

# The servers run on one processor, and the load on another one.
.PHONY: bench-server
bench-server: build ## measure the fronts beside redis-server and bare servers; takes some 12 minutes
	@tools/need.sh redis-server=redis-server redis-benchmark=redis-tools taskset=util-linux
	@cd bench && GOWORK=off $(GO) build -o ../.bin/bench-server ./server
	@taskset -c 1 .bin/bench-server -program .bin/snowfence -core 0 -only resp,http,thrift,grpc,client
	@.bin/bench-server -program .bin/snowfence -core 0 -only prefetch

.PHONY: bench-lending
bench-lending: build ## measure borrowers in Python, JavaScript and Java beside a request for each id
	@tools/need.sh python3=python3 node=nodejs javac=default-jdk-headless
	@cd bench && GOWORK=off $(GO) run ./lending

.PHONY: bench-kubernetes
bench-kubernetes: $(KUBERNETES) ## measure 200 holders that start at once on a real kube-apiserver, and in peace; some 3 minutes
	@tools/need.sh etcd=etcd-server
	@cd bench && GOWORK=off $(GO) test $(TAGS) -run '^$$' -bench . -benchtime 1x -v ./kubernetes

.PHONY: scale
scale: ## model a crowd of processes on one pool of worker ids; takes some minutes
	@cd bench && GOWORK=off $(GO) run ./scale

.PHONY: engines
engines: ## measure claims and extensions on every engine
	@tools/need.sh $(NEEDED)
	@cd daemon && $(GO) test $(TAGS) -run '^$$' -bench 'Claim|Extension' -benchtime 300x ./openstore

.PHONY: starts
starts: ## measure the time from the start of the daemon to its first id, on a new host and on the same one
	@tools/need.sh $(NEEDED)
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^$$' -bench '^BenchmarkStart$$' -benchtime 3x -timeout 20m .

.PHONY: counters
counters: ## measure counters beside atomic additions, compare-and-swap, nextval and Flickr's REPLACE
	@tools/need.sh $(NEEDED)
	@cd daemon && $(GO) test $(TAGS) -run '^$$' -bench Counters -benchtime 1x -v ./openstore

.PHONY: chaos
chaos: ## faults of every kind on real engines, for long: make chaos ENGINE=etcd, or all
	@tools/need.sh $(NEEDED)
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestChaos' -count=1 -timeout 150m -parallel 1 -v . -chaos.engines '$(ENGINE)' \
		-chaos.faults $(FAULTS) -chaos.ids $(IDS) -chaos.subjects $(SUBJECTS)

.PHONY: lending
lending: ## the same with borrowers in other languages: make lending ENGINE=etcd, or file, etcd, postgres and postgres-lossy
	@tools/need.sh $(NEEDED)
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestBorrower' -count=1 -timeout 90m -v . \
		-lending.engines '$(or $(ENGINE),$(BORROWED))' -lending.faults $(FAULTS)

.PHONY: standby
standby: ## failovers of every kind in strict order: make standby ENGINE=etcd, or file, etcd and postgres
	@tools/need.sh $(NEEDED)
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestStandby' -count=1 -timeout 60m -parallel 1 -v . $(if $(ENGINE),-standby.engines '$(ENGINE)') \
		-standby.failovers $(FAULTS)

.PHONY: hostile
hostile: ## attacks of every known kind, each by itself and all at once beside 9,000 idle connections; some 12 minutes
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestHostile' -count=1 -timeout 60m -v . -hostile.connections 300 -hostile.idle 9000 -hostile.for 10s

.PHONY: soak
soak: ## the long runs: simulation, tests repeated, crashes, chaos, a billion ids checked, the model, fuzzing; many hours
	@mkdir -p .bin
	@$(GO) run ./internal/sim/simulate -seeds 300000 -from $(FROM) -state .bin/sim.$(FROM).state
	@CGO_ENABLED=1 $(GO) test $(TAGS) -race -skip 'Allocate|^TestDrawnRunsOfHoldersBreakNoRule$$' -count=10 -timeout 60m $(RACED)
	@$(GO) test ./fence -run '^TestDrawnRunsOfHoldersBreakNoRule$$' -count=1 -timeout 60m -drawn.seeds 10000
	@$(GO) test ./store/filestore -run '^TestNoSchedule' -count=1 -timeout 60m -filestore.runs 300000 -filestore.from $(FROM)
	@$(GO) test ./opaque -run '^TestDecodeReturnsWhatEncodeTook$$' -count=1 -opaque.ids 10000000
	@$(GO) test $(TAGS) -count=5 -timeout 60m $$(tools/served.sh cmd daemon)
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestCrashes' -count=1 -timeout 60m -v . -crash.rounds 200 -crash.ids 200000000
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestJournalCarries' -count=1 -timeout 60m -v . -journal.away 3m
	@cd cmd/snowfence && $(GO) test $(TAGS) ./internal/sqlfunc -run ReadsIDsExactly -count=1 -v -sqlfunc.ids 100000
	@$(MAKE) client
	@$(MAKE) chaos
	@$(MAKE) hostile
	@cd bench && GOWORK=off $(GO) run ./check -ids 1000000000 -planted 1
	@tools/need.sh gcc=gcc,libc6-dev spin=spin
	@formal/model.sh soak
	@tools/fuzz.sh 2m

.PHONY: cover
cover: ## statement coverage by package, and cover.html
	@$(GO) test -coverprofile=cover.out ./...
	@$(GO) tool cover -html=cover.out -o cover.html

.PHONY: tools
tools: .bin/golangci-lint .bin/grpcurl ## build the pinned linter and grpcurl into .bin, once; takes some minutes

.bin/golangci-lint: tools/go.mod tools/go.sum
	@echo "building golangci-lint, once"
	@cd tools && GOWORK=off $(GO) build -o ../.bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch .bin/golangci-lint

.PHONY: vulnerabilities
vulnerabilities: .bin/govulncheck ## ask DATABASE (vuln.go.dev) about every module; fails where it can't be asked
	@tools/vulnerabilities.sh $(DATABASE)

.bin/govulncheck: tools/go.mod tools/go.sum
	@mkdir -p .bin
	@cd tools && GOWORK=off $(GO) build -o ../.bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	@touch .bin/govulncheck

.PHONY: generate
generate: .bin/grpcurl ## write the Go code of api/snowfencev1 from its .proto
	@tools/need.sh protoc=protobuf-compiler /usr/include/google/protobuf/struct.proto=libprotobuf-dev
	@mkdir -p $(STUBS)
	@PATH="$$PWD/.bin:$$PATH" protoc -I api --go_out=$(STUBS) --go_opt=paths=source_relative \
		--go-grpc_out=$(STUBS) --go-grpc_opt=paths=source_relative snowfencev1/snowfence.proto

# grpcurl, and the plugins of protoc.
.bin/grpcurl: tools/go.mod tools/go.sum
	@mkdir -p .bin
	@cd tools && GOWORK=off $(GO) build -o ../.bin/ github.com/fullstorydev/grpcurl/cmd/grpcurl \
		google.golang.org/grpc/cmd/protoc-gen-go-grpc google.golang.org/protobuf/cmd/protoc-gen-go
	@touch .bin/grpcurl

.PHONY: size
size: ## lines of Go by package, without tests, and the largest file of each
	@tools/size.sh

.PHONY: words
words: ## count the words that make sentences hard to read, by package and page, and fail where there are too many
	@cd tools && GOWORK=off $(GO) run ./words ..

.PHONY: api
api: ## list everything that the public packages export, in docs/api.txt
	@mkdir -p .bin
	@cd tools && GOWORK=off $(GO) run ./api >../.bin/api.txt && mv ../.bin/api.txt ../docs/api.txt

.PHONY: pages
pages: ## write what the program makes: docs/configuration.md, docs/metrics.md, llms.txt, the page's runbook, the SQL that a test compares, and the list of docs/clients.md; some minutes
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestPageOfTheConfiguration' -count=1 . -configuration.write
	@$(GO) test -run '^TestPageOfTheMetrics' -count=1 ./daemon/internal/metrics -metrics.write
	@$(GO) test -run '^TestRunbookOfThePage' -count=1 ./daemon/internal/page -runbook.write
	@cd tools && GOWORK=off $(GO) test -run '^TestIndexForAgents' -count=1 . -llms.write
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestSQLIsAsInItsFile' -count=1 ./internal/sqlfunc -sqlfunc.update
	@tools/need.sh $(NEEDED) $(CLIENTS)
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestClientsConverse' -count=1 . -clients.all -clients.write

.PHONY: manifests
manifests: ## write the plain YAML of deploy/kubernetes, which the chart makes
	@cd tools/manifests && GOWORK=off $(GO) test -run '^TestPlainYAML' -count=1 . -manifests.write

.PHONY: pictures
pictures: ## write the pictures of the page, docs/pictures, of five daemons and some minutes of traffic
	@tools/need.sh $(NEEDED)
	@mkdir -p docs/pictures
	@cd cmd/snowfence && $(GO) test $(TAGS) -run '^TestAxeFindsNothing$$' -count=1 . -pictures ../../docs/pictures

.PHONY: checkbench
checkbench: ## measure "snowfence check" beside sort -u on 100,000,000 ids; takes long, and 8 GB in /tmp
	@cd bench && GOWORK=off $(GO) run ./check

.PHONY: clean
clean: ## remove what the other targets made
	@rm -rf .bin cover.out cover.html
