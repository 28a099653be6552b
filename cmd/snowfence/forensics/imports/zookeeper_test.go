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

// old is a client of a ZooKeeper, as an old system's processes are.
type old struct {
	t    *testing.T
	conn *zk.Conn
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
			if _, err := o.conn.Create(path[:i+1], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				o.t.Fatal(err)
			}
		}
	}
	made, err := o.conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll))
	if err != nil {
		o.t.Fatal(err)
	}
	return made
}

// leaf starts a Leaf for the first time, as far as ZooKeeper sees it.
func (o *old) leaf(name, endpoint string, at time.Time) string {
	ip, port, _ := strings.Cut(endpoint, ":")
	return o.node(LeafPath(name)+"/"+endpoint+"-", leafData(ip, port, at), zk.FlagSequence)
}

func leafData(ip, port string, at time.Time) string {
	return fmt.Sprintf(`{"ip":%q,"port":%q,"timestamp":%d}`, ip, port, at.UnixMilli())
}

func poolData(worker int, at time.Time) string {
	if at.IsZero() {
		return fmt.Sprintf(`{"workId":%d,"lastUsedIp":null,"lastUsedPort":null,"lastUsedTimestamp":null}`, worker)
	}
	return fmt.Sprintf(`{"workId":%d,"lastUsedIp":"10.0.0.1","lastUsedPort":"8080","lastUsedTimestamp":%d}`, worker, at.UnixMilli())
}

// reader reads with a short watch.
func (o *old) reader() *zooKeeper {
	o.t.Helper()
	return o.watching(200 * time.Millisecond)
}

// watching reads with a watch as long as that.
func (o *old) watching(d time.Duration) *zooKeeper {
	o.t.Helper()
	z, err := connect(o.t.Context(), o.addr, timeout, d)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(z.close)
	return z
}

func (z *zooKeeper) leaf(ctx context.Context, at string) ([]Sighting, error) {
	return z.read(ctx, kinds()[Leaf], at, same)
}

func (z *zooKeeper) recyclable(ctx context.Context, at string) ([]Sighting, error) {
	return z.read(ctx, kinds()[LeafRecyclable], at, same)
}

func (z *zooKeeper) twitter(ctx context.Context, at string, l snowfence.Layout, datacenter int64) ([]Sighting, error) {
	return z.read(ctx, kinds()[Twitter], at, func(worker int64) (int64, error) { return l.WorkerNumber(datacenter, worker) })
}

// about reports whether an error is final and names a node.
func about(err error, node string) bool {
	return snowfence.ClassOf(err) == snowfence.ClassFinal && strings.Contains(err.Error(), node)
}

func same(worker int64) (int64, error) { return worker, nil }

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
func keep(t *testing.T, every time.Duration, do func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do()
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

	t.Run("Leaf that was stopped", func(t *testing.T) {
		o := newOld(t, server.Addr())
		for i := range 3 {
			o.leaf("stopped", fmt.Sprintf("10.0.0.%d:8080", i), hourAgo.Add(time.Duration(i)*time.Minute))
		}
		got, err := o.reader().leaf(t.Context(), LeafPath("stopped"))
		if err != nil {
			t.Fatal(err)
		}
		if living(got) != "0:false 1:false 2:false" || !got[2].Last.Equal(hourAgo.Add(2*time.Minute)) || got[2].Where != "/snowflake/stopped/forever/10.0.0.2:8080-0000000002" {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("Leaf that uploads, with a clock an hour behind", func(t *testing.T) {
		o := newOld(t, server.Addr())
		o.leaf("uploads", "10.0.0.1:8080", hourAgo)
		path := o.leaf("uploads", "10.0.0.2:8080", hourAgo)
		keep(t, 50*time.Millisecond, func() {
			_, _ = o.conn.Set(path, []byte(leafData("10.0.0.2", "8080", hourAgo)), -1)
		})
		got, err := o.reader().leaf(t.Context(), LeafPath("uploads"))
		if err != nil || living(got) != "0:false 1:true" || !strings.Contains(got[1].Alive, "changed") {
			t.Errorf("got %+v, %v", got, err)
		}
	})

	t.Run("Leaf that starts meanwhile", func(t *testing.T) {
		o := newOld(t, server.Addr())
		o.leaf("starts", "10.0.0.1:8080", hourAgo)
		n := 0
		keep(t, 30*time.Millisecond, func() {
			n++
			_, _ = o.conn.Create(fmt.Sprintf("%s/10.0.1.%d:8080-", LeafPath("starts"), n), []byte(leafData("10.0.1.1", "8080", hourAgo)), zk.FlagSequence, zk.WorldACL(zk.PermAll))
		})
		got, err := o.reader().leaf(t.Context(), LeafPath("starts"))
		if err != nil || !strings.Contains(living(got), "true") {
			t.Errorf("got %+v, %v", got, err)
		}
	})

	t.Run("Leaf with a timestamp of this moment", func(t *testing.T) {
		o := newOld(t, server.Addr())
		// By a clock that is ahead of this one by less than is watched. The second reading
		// may come a second and a half late.
		o.leaf("fresh", "10.0.0.1:8080", time.Now().Add(1500*time.Millisecond))
		got, err := o.watching(2*time.Second).leaf(t.Context(), LeafPath("fresh"))
		if err != nil || living(got) != "0:true" || !strings.Contains(got[0].Alive, "old") {
			t.Errorf("got %+v, %v", got, err)
		}
	})

	t.Run("recyclable pools", func(t *testing.T) {
		o := newOld(t, server.Addr())
		pool := RecyclablePath("pool")
		o.node(pool+"/notuse/workId:0", poolData(0, hourAgo), 0)
		o.node(pool+"/notuse/workId:1024", poolData(1024, time.Time{}), 0)
		o.node(pool+"/inuse/workId:2", poolData(2, hourAgo), 0)
		live := o.node(pool+"/inuse/workId:3", poolData(3, hourAgo), 0)
		keep(t, 50*time.Millisecond, func() { _, _ = o.conn.Set(live, []byte(poolData(3, hourAgo)), -1) })
		got, err := o.reader().recyclable(t.Context(), pool)
		if err != nil || living(got) != "0:false 2:false 3:true 1024:false" || !got[0].Last.Equal(hourAgo) || !got[3].Last.IsZero() {
			t.Errorf("got %+v, %v", got, err)
		}
	})

	t.Run("recyclable worker id that is taken meanwhile", func(t *testing.T) {
		o := newOld(t, server.Addr())
		pool := RecyclablePath("taken")
		for i := range 40 {
			o.node(fmt.Sprintf("%s/notuse/workId:%d", pool, i), poolData(i, hourAgo), 0)
		}
		n := 0
		keep(t, 20*time.Millisecond, func() {
			_ = o.conn.Delete(fmt.Sprintf("%s/notuse/workId:%d", pool, n), -1)
			n++
		})
		got, err := o.reader().recyclable(t.Context(), pool)
		if err != nil || !strings.Contains(living(got), "true") {
			t.Errorf("got %+v, %v", got, err)
		}
	})

	t.Run("Twitter", func(t *testing.T) {
		preset, err := snowfence.PresetByName("twitter")
		if err != nil {
			t.Fatal(err)
		}
		o, process := newOld(t, server.Addr()), newOld(t, server.Addr())
		o.node("/snowflake-servers/x", "", 0)
		if err := o.conn.Delete("/snowflake-servers/x", -1); err != nil {
			t.Fatal(err)
		}
		process.node("/snowflake-servers/17", "10.0.0.1:7609", zk.FlagEphemeral)
		got, err := o.reader().twitter(t.Context(), TwitterPath, preset.Layout, 3)
		if err != nil || living(got) != "113:true" || !strings.Contains(got[0].Alive, "10.0.0.1:7609") {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := o.reader().twitter(t.Context(), TwitterPath, preset.Layout, 32); snowfence.ClassOf(err) != snowfence.ClassFinal {
			t.Errorf("datacenter 32: %v", err)
		}
		process.conn.Close()
		for range 100 {
			if got, err = o.reader().twitter(t.Context(), TwitterPath, preset.Layout, 3); err != nil || len(got) == 0 {
				break
			}
		}
		if err != nil || len(got) != 0 {
			t.Errorf("after its session: %+v, %v", got, err)
		}
	})

	t.Run("what is not there, or not as it should be", func(t *testing.T) {
		o := newOld(t, server.Addr())
		if _, err := o.reader().leaf(t.Context(), LeafPath("nobody")); !errors.Is(err, ErrNoPath) || !strings.Contains(err.Error(), LeafPath("nobody")) {
			t.Errorf("no path: %v", err)
		}
		if _, err := o.reader().recyclable(t.Context(), RecyclablePath("nobody")); !errors.Is(err, ErrNoPath) {
			t.Errorf("no pools: %v", err)
		}
		o.node(LeafPath("odd")+"/somebody", "", 0)
		o.node(LeafPath("torn")+"/10.0.0.1:8080-", "{", zk.FlagSequence)
		o.node(RecyclablePath("swapped")+"/inuse/workId:1", poolData(2, hourAgo), 0)
		if _, err := o.reader().leaf(t.Context(), LeafPath("odd")); !about(err, LeafPath("odd")+"/somebody") {
			t.Errorf("odd name: %v", err)
		}
		if _, err := o.reader().leaf(t.Context(), LeafPath("torn")); !about(err, "node") {
			t.Errorf("torn data: %v", err)
		}
		if _, err := o.reader().recyclable(t.Context(), RecyclablePath("swapped")); !about(err, "node") {
			t.Errorf("contradiction: %v", err)
		}
	})

	t.Run("server that does not answer", func(t *testing.T) {
		o := newOld(t, server.Addr())
		o.leaf("paused", "10.0.0.1:8080", hourAgo)
		z, err := connect(t.Context(), server.Addr(), 2*time.Second, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer z.close()
		server.Pause()
		defer server.Resume()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := z.leaf(ctx, LeafPath("paused")); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := connect(t.Context(), server.Addr(), 300*time.Millisecond, DefaultWatch); err == nil || snowfence.ClassOf(err) == snowfence.ClassFinal {
			t.Errorf("open: %v", err)
		}
	})
}

func TestNoServerIsSaidWithinTheTimeout(t *testing.T) {
	addr := fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))
	_, err := connect(t.Context(), addr, 300*time.Millisecond, DefaultWatch)
	if err == nil || !strings.Contains(err.Error(), "no session within 300ms") {
		t.Error(err)
	}
}
