package testkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// zookeeperJars are the class path: Debian's jar names its other jars, except for a writer of the log
// to standard error, and for parts of Netty, which TLS needs.
const zookeeperJars = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar:" +
	"/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar"

// ZooKeeper starts a ZooKeeper server that stands alone and syncs every write.
// Its ticks are short, so that sessions from 400 ms to 4 s are granted. More
// lines are added to its zoo.cfg.
func ZooKeeper(t testing.TB, lines ...string) *Server {
	t.Helper()
	return zookeeper(t, zookeeperServes, 0, lines)
}

// ZooKeeperEnsemble starts an ensemble of ZooKeeper servers, and waits until it
// has a leader.
func ZooKeeperEnsemble(t testing.TB, members int) []*Server {
	t.Helper()
	ensemble := []string{"initLimit=20", "syncLimit=10"}
	for n := range members {
		ensemble = append(ensemble, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", n+1, FreePort(t), FreePort(t)))
	}
	servers := make([]*Server, members)
	for n := range servers {
		// A member listens before it serves: it needs the others for that.
		servers[n] = zookeeper(t, Accepts, n+1, ensemble)
	}
	if ZooKeeperLeader(t, servers) == nil {
		t.Fatal("the ZooKeeper ensemble elects no leader")
	}
	return servers
}

// ZooKeeperLeader waits until one of the servers leads the ensemble, and
// returns it, or nil if none does within [Hang].
func ZooKeeperLeader(t testing.TB, servers []*Server) (leader *Server) {
	t.Helper()
	_ = retry(t.Context(), nil, func(ctx context.Context) error {
		for _, s := range servers {
			if text, err := ZooKeeperWord(ctx, s.Addr(), "srvr"); err == nil && strings.Contains(text, "Mode: leader") {
				leader = s
				return nil
			}
		}
		return errors.New("none leads")
	})
	return leader
}

// zookeeper starts a server: the member of that number, or one that stands
// alone if it is zero.
func zookeeper(t testing.TB, ready func(context.Context, *Server) error, member int, lines []string) *Server {
	t.Helper()
	return StartServer(t, Program{
		Name: "java", Package: "zookeeper",
		Prepare: func(s *Server) error {
			for jar := range strings.SplitSeq(zookeeperJars, ":") {
				if _, err := os.Stat(jar); err != nil {
					return fmt.Errorf("%w: install it first; on Debian and its kin: apt-get install zookeeper libslf4j-java libnetty-java", err)
				}
			}
			config := append([]string{
				"tickTime=200",
				"dataDir=" + filepath.Join(s.Dir, "data"),
				"clientPortAddress=127.0.0.1",
				fmt.Sprintf("clientPort=%d", s.Ports[0]),
				"maxClientCnxns=0",
				"admin.enableServer=false",
				"4lw.commands.whitelist=srvr,cons",
			}, lines...)
			if err := os.Mkdir(filepath.Join(s.Dir, "data"), 0o700); err != nil {
				return err
			}
			if member > 0 {
				if err := os.WriteFile(filepath.Join(s.Dir, "data", "myid"), []byte(strconv.Itoa(member)), 0o600); err != nil {
					return err
				}
			}
			return os.WriteFile(filepath.Join(s.Dir, "zoo.cfg"), []byte(strings.Join(config, "\n")+"\n"), 0o600)
		},
		Arguments: func(s *Server) []string {
			return []string{
				"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
				"-Dzookeeper.jmx.log4j.disable=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
				"-cp", zookeeperJars,
				"org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(s.Dir, "zoo.cfg"),
			}
		},
		Ready: ready,
	})
}

// zookeeperServes is ready once the server answers requests.
func zookeeperServes(ctx context.Context, s *Server) error {
	text, err := ZooKeeperWord(ctx, s.Addr(), "srvr")
	if err != nil {
		return err
	}
	if !strings.Contains(text, "Mode: ") {
		return errors.New(strings.TrimSpace(text))
	}
	return nil
}

// ZooKeeperWord sends one of ZooKeeper's four-letter words, and returns the
// answer. Servers of this package answer srvr and cons.
func ZooKeeperWord(ctx context.Context, address, word string) (string, error) {
	// A server that is paused must not hold the others up.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return ask(ctx, address, word, func(r *bufio.Reader) (string, error) {
		text, err := io.ReadAll(r)
		return string(text), err
	})
}
