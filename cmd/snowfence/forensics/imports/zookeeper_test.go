//go:build servers

package imports

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// short is how long nodes are watched in most tests.
const short = 200 * time.Millisecond

// old is a client of a ZooKeeper, as an old system's processes are.
type old struct {
	t *testing.T
	*zk.Conn
	addr string
}

func newOld(t *testing.T, addr string) *old {
	t.Helper()
	conn, _, err := zk.Connect([]string{addr}, 2*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return &old{t, conn, addr}
}

// node makes a node and the folders above it.
func (o *old) node(path, data string, flags int32) string {
	o.t.Helper()
	for i, c := range path[1:] {
		if c == '/' {
			if _, err := o.Create(path[:i+1], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				o.t.Fatal(err)
			}
		}
	}
	made, err := o.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
	if err != nil {
		o.t.Fatal(err)
	}
	return made
}

// leaf starts a Leaf for the first time, as far as ZooKeeper sees it.
func (o *old) leaf(at, endpoint string, last time.Time) string {
	return o.node(at+"/"+endpoint+"-", leafData(last), zk.FlagSequence)
}

func leafData(last time.Time) string {
	return fmt.Sprintf(`{"ip":"10.0.0.1","port":"8080","timestamp":%d}`, last.UnixMilli())
}

func poolData(worker int, last time.Time) string {
	return fmt.Sprintf(`{"workId":%d,"lastUsedIp":"10.0.0.1","lastUsedPort":"8080","lastUsedTimestamp":%d}`, worker, last.UnixMilli())
}

// sightings reads the nodes of a system as an import does.
func (o *old) sightings(ctx context.Context, system System, at string, datacenter int64, watch time.Duration) ([]Sighting, error) {
	z, err := connect(ctx, o.addr, timeout, watch)
	if err != nil {
		return nil, err
	}
	defer z.close()
	return z.read(ctx, kinds()[system], at, func(worker int64) (int64, error) {
		if datacenter > 31 {
			return 0, errors.New("too high")
		}
		return datacenter<<5 + worker, nil
	})
}

func connect(ctx context.Context, addr string, timeout, watch time.Duration) (*zooKeeper, error) {
	return zooKeeper{clock: snowfence.SystemClock(), timeout: timeout, watch: watch}.connect(ctx, []string{addr})
}

// living is which of some sightings are alive.
func living(sightings []Sighting) string {
	text := ""
	for _, s := range sightings {
		text += fmt.Sprintf("%d:%v ", s.Worker, s.Alive != "")
	}
	return strings.TrimSpace(text)
}

// keep does something again and again until the test ends.
func keep(t *testing.T, do func(n int)) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
				do(n)
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func TestOldSystemsAreReadFromZooKeeper(t *testing.T) {
	server := testkit.ZooKeeper(t)
	hourAgo := time.Now().Add(-time.Hour).Truncate(time.Millisecond).UTC()
	for _, x := range []struct {
		name   string
		system System
		watch  time.Duration
		nodes  func(t *testing.T, o *old, at string)
		want   string // the worker ids; some are followed by more
		is     func(all []Sighting) bool
	}{
		{"Leaf that was stopped", Leaf, short, func(_ *testing.T, o *old, at string) {
			for i := range 3 {
				o.leaf(at, fmt.Sprintf("10.0.0.%d:8080", i), hourAgo.Add(time.Duration(i)*time.Minute))
			}
		}, "0:false 1:false 2:false", func(all []Sighting) bool {
			return all[2].Last.Equal(hourAgo.Add(2*time.Minute)) && strings.HasSuffix(all[2].Where, "/10.0.0.2:8080-0000000002")
		}},
		{"Leaf that uploads, with a clock an hour behind", Leaf, short, func(t *testing.T, o *old, at string) {
			o.leaf(at, "10.0.0.1:8080", hourAgo)
			path := o.leaf(at, "10.0.0.2:8080", hourAgo)
			keep(t, func(int) { _, _ = o.Set(path, []byte(leafData(hourAgo)), -1) })
		}, "0:false 1:true", func(all []Sighting) bool { return strings.Contains(all[1].Alive, "changed") }},
		{"Leaf that starts meanwhile", Leaf, short, func(t *testing.T, o *old, at string) {
			o.leaf(at, "10.0.0.1:8080", hourAgo)
			keep(t, func(n int) {
				_, _ = o.Create(fmt.Sprintf("%s/10.0.1.%d:8080-", at, n), []byte(leafData(hourAgo)), zk.FlagSequence, zk.WorldACL(zk.PermAll))
			})
		}, "0:false", func(all []Sighting) bool { return strings.Contains(living(all), "true") }},
		// By a clock that is ahead of this one by less than is watched. The second reading
		// may come a second and a half late.
		{"Leaf with a timestamp of this moment", Leaf, 2 * time.Second, func(_ *testing.T, o *old, at string) {
			o.leaf(at, "10.0.0.1:8080", time.Now().Add(1500*time.Millisecond))
		}, "0:true", func(all []Sighting) bool { return strings.Contains(all[0].Alive, "old") }},
		{"recyclable pools", LeafRecyclable, short, func(t *testing.T, o *old, at string) {
			o.node(at+"/notuse/workId:0", poolData(0, hourAgo), 0)
			o.node(at+"/notuse/workId:1024", `{"workId":1024,"lastUsedIp":null,"lastUsedPort":null,"lastUsedTimestamp":null}`, 0)
			o.node(at+"/inuse/workId:2", poolData(2, hourAgo), 0)
			live := o.node(at+"/inuse/workId:3", poolData(3, hourAgo), 0)
			keep(t, func(int) { _, _ = o.Set(live, []byte(poolData(3, hourAgo)), -1) })
		}, "0:false 2:false 3:true 1024:false", func(all []Sighting) bool { return all[0].Last.Equal(hourAgo) && all[3].Last.IsZero() }},
		{"recyclable worker id that is taken meanwhile", LeafRecyclable, short, func(t *testing.T, o *old, at string) {
			for i := range 40 {
				o.node(fmt.Sprintf("%s/notuse/workId:%d", at, i), poolData(i, hourAgo), 0)
			}
			keep(t, func(n int) { _ = o.Delete(fmt.Sprintf("%s/notuse/workId:%d", at, n), -1) })
		}, "", func(all []Sighting) bool { return strings.Contains(living(all), "true") }},
	} {
		t.Run(x.name, func(t *testing.T) {
			o, at := newOld(t, server.Addr()), "/"+strings.ReplaceAll(x.name, " ", "")
			x.nodes(t, o, at)
			got, err := o.sightings(t.Context(), x.system, at, 0, x.watch)
			if err != nil || !strings.HasPrefix(living(got), x.want) || !x.is(got) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}

	t.Run("Twitter", func(t *testing.T) {
		o, process := newOld(t, server.Addr()), newOld(t, server.Addr())
		o.node(TwitterPath, "", 0)
		process.node(TwitterPath+"/17", "10.0.0.1:7609", zk.FlagEphemeral)
		got, err := o.sightings(t.Context(), Twitter, TwitterPath, 3, short)
		if err != nil || living(got) != "113:true" || !strings.Contains(got[0].Alive, "10.0.0.1:7609") {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := o.sightings(t.Context(), Twitter, TwitterPath, 32, short); snowfence.ClassOf(err) != snowfence.ClassFinal {
			t.Errorf("datacenter 32: %v", err)
		}
		process.Close() // its session, and its node
		if got, err = o.sightings(t.Context(), Twitter, TwitterPath, 3, short); err != nil || len(got) != 0 {
			t.Errorf("after its session: %+v, %v", got, err)
		}
	})

	t.Run("what is not there, or not as it should be", func(t *testing.T) {
		o := newOld(t, server.Addr())
		o.node("/odd/somebody", "", 0)
		o.node("/torn/10.0.0.1:8080-", "{", zk.FlagSequence)
		o.node("/swapped/inuse/workId:1", poolData(2, hourAgo), 0)
		for _, x := range []struct {
			system   System
			at, want string
		}{
			{Leaf, "/absent", "no such node: /absent"},
			{LeafRecyclable, "/absent", "no such node: /absent/notuse"},
			{Leaf, "/odd", `node "/odd/somebody"`},
			{Leaf, "/torn", `node "/torn/10.0.0.1:8080-0000000000"`},
			{LeafRecyclable, "/swapped", `node "/swapped/inuse/workId:1"`},
		} {
			if _, err := o.sightings(t.Context(), x.system, x.at, 0, short); snowfence.ClassOf(err) != snowfence.ClassFinal || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%s: %v, want %s", x.at, err, x.want)
			}
		}
	})

	t.Run("server that does not answer", func(t *testing.T) {
		newOld(t, server.Addr()).leaf("/paused", "10.0.0.1:8080", hourAgo)
		z, err := connect(t.Context(), server.Addr(), timeout, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer z.close()
		server.Pause()
		defer server.Resume()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := z.read(ctx, kinds()[Leaf], "/paused", func(n int64) (int64, error) { return n, nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := connect(t.Context(), server.Addr(), 300*time.Millisecond, short); err == nil || snowfence.ClassOf(err) == snowfence.ClassFinal || !strings.Contains(err.Error(), "no session within 300ms") {
			t.Errorf("open: %v", err)
		}
	})
}
