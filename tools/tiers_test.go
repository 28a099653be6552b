package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const ours = "snowfence.example/snowfence"

// A tier is a package of the product, and all that it imports.
type tier struct {
	folder string
	noIO   bool     // it imports none of the packages below
	own    []string // folders of this project's packages; "." is the root
	others []string // modules of others
}

// input is what a package without I/O does not import.
var input = []string{"net", "net/http", "os", "os/exec", "os/signal", "syscall"}

// banned lists imports that are forbidden everywhere, in tests too.
var banned = []string{"unsafe", "log", "math/rand", "io/ioutil", "net/http/pprof", "expvar"}

// support begins the folders outside of the product: only tests import it.
var support = []string{
	"bench", "examples", "tools", "formal", "internal/sim", "internal/testkit", "internal/servertest", "internal/disk/modeldisk",
	"daemon/internal/lineartest", "daemon/internal/sqltest", "daemon/internal/fronttest", "internal/mutants",
	"store/storetest", "store/faultstore", "counter/countertest", "daemon/kind/kindtest",
}

// tiers is the architecture. A line is a package, a ! if it does I/O, the packages of this project that it
// imports, and after a bar the modules of others. A package imports only packages of earlier lines.
const tiers = `
# ids, layouts and contracts
.
internal/disk !
internal/sqlsession .
internal/storeurl !
internal/text
internal/decode . internal/text
internal/plan . internal/text
store .
internal/storeclient ! store
# the right to a number
internal/stored . store
internal/journal ! internal/disk internal/stored
internal/lease . internal/stored store
internal/lease/drive . internal/lease internal/stored store
internal/lend . internal/lease internal/lease/drive internal/stored store
counter . internal/lease internal/lease/drive internal/stored store
counter/series . counter internal/sqlsession internal/stored
fence . internal/journal internal/lease internal/lease/drive internal/stored store
internal/roster . internal/lease internal/lease/drive internal/stored store
keys .
opaque .
# engines, other systems' tables, clients
api
api/snowfencev1 | google.golang.org/grpc google.golang.org/protobuf
client ! .
counter/flickr . counter internal/sqlsession internal/stored
counter/leafalloc . counter internal/sqlsession internal/stored
counter/rediscount . counter internal/stored
counter/tinyid . counter internal/sqlsession internal/stored
store/etcdstore internal/storeclient internal/storeurl store | go.etcd.io/etcd/client/v3 go.uber.org/zap google.golang.org/grpc
store/filestore ! . internal/disk internal/storeclient internal/storeurl store
store/kubernetesstore ! internal/storeclient internal/storeurl store | k8s.io/api k8s.io/apimachinery k8s.io/client-go
store/memstore . internal/storeclient internal/storeurl store
store/natsstore ! internal/storeclient internal/storeurl store | github.com/nats-io/nats.go
store/redisstore ! internal/storeclient internal/storeurl store | github.com/redis/go-redis/v9
store/sqlstore ! internal/sqlsession internal/storeclient internal/storeurl store
store/zkstore ! internal/storeclient internal/storeurl store | github.com/go-zookeeper/zk
# the daemon
daemon/internal/budget
daemon/internal/session !
daemon/kind . counter counter/leafalloc counter/series internal/lend store
daemon/internal/front ! . daemon/kind
daemon/engine .
daemon/openstore ! daemon/engine internal/sqlsession internal/storeclient store store/etcdstore store/filestore store/kubernetesstore store/memstore store/natsstore store/redisstore store/sqlstore store/zkstore | github.com/go-sql-driver/mysql github.com/jackc/pgx/v5
daemon/config ! . daemon/engine fence internal/stored internal/storeurl internal/text | go.yaml.in/yaml/v3
daemon/internal/lending . daemon/kind internal/lend internal/stored
daemon/builtin ! . counter counter/flickr counter/leafalloc counter/rediscount counter/series counter/tinyid daemon/config daemon/engine daemon/internal/lending daemon/kind daemon/openstore fence internal/decode internal/lease internal/lend internal/stored opaque store | github.com/gofrs/uuid/v5 github.com/oklog/ulid/v2 github.com/speps/go-hashids/v2 github.com/sqids/sqids-go go.mongodb.org/mongo-driver/v2
daemon/token ! | golang.org/x/time
daemon/internal/service . counter counter/series daemon/config daemon/internal/budget daemon/internal/front daemon/kind daemon/token fence internal/decode internal/lease internal/lend internal/stored | golang.org/x/time
daemon/internal/compat ! . daemon/config daemon/internal/front daemon/kind
daemon/internal/listen ! daemon/config daemon/internal/budget daemon/internal/front daemon/token
daemon/internal/view ! . daemon/config daemon/internal/front daemon/kind internal/lease internal/roster internal/stored store
daemon/internal/metrics ! daemon/internal/front daemon/internal/view daemon/kind store | github.com/prometheus/client_golang
daemon/internal/grpcfront ! . api/snowfencev1 daemon/internal/budget daemon/internal/front daemon/kind daemon/token | google.golang.org/genproto/googleapis/rpc google.golang.org/grpc google.golang.org/protobuf
daemon/internal/page ! . daemon/internal/front daemon/internal/view daemon/token internal/decode internal/plan internal/stored internal/text
daemon/internal/httpfront ! . api daemon/config daemon/internal/budget daemon/internal/compat daemon/internal/front daemon/internal/page daemon/kind daemon/token
daemon/internal/respfront ! daemon/internal/budget daemon/internal/front daemon/internal/session daemon/kind
daemon/internal/thriftfront ! daemon/internal/front daemon/internal/session daemon/kind | github.com/apache/thrift
daemon ! . counter daemon/builtin daemon/config daemon/engine daemon/internal/budget daemon/internal/front daemon/internal/grpcfront daemon/internal/httpfront daemon/internal/listen daemon/internal/metrics daemon/internal/page daemon/internal/respfront daemon/internal/service daemon/internal/thriftfront daemon/internal/view daemon/kind daemon/openstore daemon/token fence internal/text store store/kubernetesstore
# the command line
cmd/snowfence/internal/clock .
cmd/snowfence/forensics/source ! . daemon/engine internal/decode internal/text | github.com/klauspost/compress
cmd/snowfence/forensics/idsort ! . cmd/snowfence/forensics/source internal/text
cmd/snowfence/forensics/check . cmd/snowfence/forensics/idsort cmd/snowfence/forensics/source internal/decode internal/text
cmd/snowfence/internal/page
cmd/snowfence/internal/sqlfunc .
cmd/snowfence/forensics/imports . internal/roster internal/stored internal/text | github.com/go-zookeeper/zk
cmd/snowfence/internal/idtext . cmd/snowfence/internal/page internal/decode
cmd/snowfence/internal/registers . cmd/snowfence/internal/page counter internal/decode internal/roster internal/text
cmd/snowfence/forensics/merge . cmd/snowfence/forensics/check cmd/snowfence/forensics/idsort cmd/snowfence/forensics/source daemon/engine internal/roster internal/text store
cmd/snowfence/internal/doctor ! . cmd/snowfence/internal/page counter daemon daemon/builtin daemon/config daemon/engine daemon/openstore internal/disk internal/lease internal/roster internal/stored internal/text store store/filestore
cmd/snowfence/internal/systemd ! . cmd/snowfence/internal/page daemon | github.com/coreos/go-systemd/v22
cmd/snowfence/internal/wrap ! . daemon/kind internal/lend | github.com/coreos/go-systemd/v22 golang.org/x/sys
cmd/snowfence ! . cmd/snowfence/internal/doctor cmd/snowfence/internal/wrap cmd/snowfence/forensics/check cmd/snowfence/forensics/merge cmd/snowfence/internal/clock cmd/snowfence/forensics/idsort cmd/snowfence/forensics/source cmd/snowfence/internal/idtext cmd/snowfence/internal/systemd cmd/snowfence/internal/page cmd/snowfence/internal/registers cmd/snowfence/internal/sqlfunc cmd/snowfence/forensics/imports counter daemon daemon/builtin daemon/config daemon/engine daemon/kind daemon/openstore daemon/token fence internal/decode internal/journal internal/plan internal/roster internal/text store | github.com/spf13/cobra github.com/spf13/pflag
`

// imported is the go command's description of a package.
type imported struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func (p imported) folder() string {
	if p.ImportPath == ours {
		return "."
	}
	return strings.TrimPrefix(p.ImportPath, ours+"/")
}

func TestPackagesImportWhatTheirTierSays(t *testing.T) {
	rooms := readTiers(t)
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			generated := p.folder() == "api/snowfencev1" && name == "unsafe"
			if slices.Contains(banned, name) && !generated {
				t.Errorf("%s imports %s, which no package may", p.folder(), name)
			}
		}
		if isSupport(p.folder()) {
			continue
		}
		room := slices.IndexFunc(rooms, func(r tier) bool { return r.folder == p.folder() })
		if room < 0 {
			t.Errorf("package %s stands in no line of tiers", p.folder())
			continue
		}
		for _, wrong := range rooms[room].compare(rooms[:room], p.Imports) {
			t.Errorf("%s %s", p.folder(), wrong)
		}
		rooms[room].own, rooms[room].others = nil, nil // met
	}
	for _, r := range rooms {
		if r.own != nil || r.others != nil {
			t.Errorf("tiers has a line for %s, which is no package", r.folder)
		}
	}
}

// compare returns how the imports of a package differ from its line; below are the lines above it.
func (r tier) compare(below []tier, imports []string) (wrong []string) {
	met := make(map[string]bool)
	for _, name := range imports {
		own, isOurs := strings.CutPrefix(name, ours)
		first, _, _ := strings.Cut(name, "/")
		switch {
		case isOurs:
			folder := path.Clean("./" + own)
			met[folder] = true
			lower := slices.ContainsFunc(below, func(b tier) bool { return b.folder == folder })
			if !slices.Contains(r.own, folder) || !lower {
				wrong = append(wrong, fmt.Sprintf("imports %s, which is not in its line or not above it", folder))
			}
		case strings.Contains(first, "."):
			module := slices.IndexFunc(r.others, func(m string) bool { return name == m || strings.HasPrefix(name, m+"/") })
			if module < 0 {
				wrong = append(wrong, fmt.Sprintf("imports %s, which is not in its line", name))
			} else {
				met[r.others[module]] = true
			}
		case r.noIO && slices.Contains(input, name), name == "testing", name == "net/http/httptest":
			wrong = append(wrong, fmt.Sprintf("imports %s, which its line rules out", name))
		}
	}
	for _, name := range slices.Concat(r.own, r.others) {
		if !met[name] {
			wrong = append(wrong, "does not import "+name+", which is in its line")
		}
	}
	return wrong
}

func isSupport(folder string) bool {
	return slices.ContainsFunc(support, func(s string) bool { return folder == s || strings.HasPrefix(folder, s+"/") })
}

func readTiers(t *testing.T) (rooms []tier) {
	t.Helper()
	for line := range strings.Lines(tiers) {
		own, others, _ := strings.Cut(line, "|")
		words := strings.Fields(own)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		r := tier{folder: words[0], noIO: true, own: words[1:], others: strings.Fields(others)}
		if len(r.own) > 0 && r.own[0] == "!" {
			r.noIO, r.own = false, r.own[1:]
		}
		rooms = append(rooms, r)
	}
	return rooms
}

// packages returns every package of the modules in go.work.
func packages(t *testing.T) (all []imported) {
	t.Helper()
	var stderr strings.Builder
	list := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "work")
	list.Dir, list.Stderr = house, &stderr
	list.Env = append(os.Environ(), "GOWORK=") // the go.work above
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p imported
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
