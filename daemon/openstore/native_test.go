//go:build servers

package openstore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"snowfence.example/snowfence/internal/testkit"
)

// native is one thing in a store as its server shows it, without this program.
type native struct {
	Kind   string // "file", "key", "znode", "statement", …
	Name   string
	Header string // the parts beside the content: an ACL, a score, headers
	Text   string // the content, if it is text
	Base64 []byte // the content, if it is not
}

func (n native) content() []byte {
	if n.Base64 != nil {
		return n.Base64
	}
	return []byte(n.Text)
}

// restore puts the state into a new server by the server's own protocol, and returns
// the URL of the store.
func restore(t *testing.T, engine string, was earlier) string {
	t.Helper()
	loss, err := time.ParseDuration(was.Loss)
	if err != nil {
		t.Fatal(err)
	}
	if engine == "postgres" || engine == "mysql" {
		url, db := testkit.SQL(t, engine)
		for _, n := range was.Native {
			if _, err := db.ExecContext(t.Context(), n.Text); err != nil {
				t.Fatalf("%s: %v", n.Text, err)
			}
		}
		return url + "?durable=true"
	}
	e := testkit.StartEngine(t, engine)
	url := e.URL("", loss)
	switch engine {
	case "file":
		err = restoreFiles(strings.TrimPrefix(url, "file:"), was.Native)
	case "etcd":
		err = restoreEtcd(t.Context(), e.Server.Addr(), was.Native)
	case "zookeeper":
		err = restoreZooKeeper(e.Server.Addr(), was.Native)
	case "redis":
		err = restoreRedis(t.Context(), e.Server.Addr(), was.Native)
	case "nats":
		err = restoreNATS(e.Server.Addr(), was.Native)
	default:
		t.Fatalf("engine %q is not known", engine)
	}
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// restoreFiles makes the 256 folders, too; most are empty.
func restoreFiles(dir string, state []native) error {
	for i := range 256 {
		if err := os.MkdirAll(filepath.Join(dir, "registers", fmt.Sprintf("%02x", i)), 0o700); err != nil {
			return err
		}
	}
	for _, n := range state {
		if err := os.WriteFile(filepath.Join(dir, n.Name), n.content(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func restoreEtcd(ctx context.Context, address string, state []native) error {
	for _, n := range state {
		body, err := json.Marshal(map[string][]byte{"key": []byte(n.Name), "value": n.content()})
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v3/kv/put", bytes.NewReader(body))
		if err != nil {
			return err
		}
		response, err := testkit.Client().Do(request)
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			return fmt.Errorf("put %s: %s, %w", n.Name, response.Status, err)
		}
	}
	return nil
}

func restoreZooKeeper(address string, state []native) error {
	conn, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, n := range state { // parents come first
		acl := strings.Split(n.Header, ":")
		rights, err := strconv.Atoi(acl[2])
		if err != nil {
			return err
		}
		if _, err := conn.Create(n.Name, n.content(), 0, []zk.ACL{{Scheme: acl[0], ID: acl[1], Perms: int32(rights)}}); err != nil {
			return fmt.Errorf("create %s: %w", n.Name, err)
		}
	}
	return nil
}

func restoreRedis(ctx context.Context, address string, state []native) error {
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close() //nolint:errcheck // the test is over
	for _, n := range state {
		command := []any{"SET", n.Name, n.content()}
		if n.Kind == "zset" {
			command = []any{"ZADD", n.Name, n.Header, n.content()}
		}
		if err := client.Do(ctx, command...).Err(); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	return nil
}

// restoreNATS makes the stream as it was and publishes its messages, without the
// headers that name sequence numbers of the old one.
func restoreNATS(address string, state []native) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	lines := bufio.NewReader(conn)
	if _, err := io.WriteString(conn, "CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB answers 1\r\n"); err != nil {
		return err
	}
	for _, n := range state {
		request := fmt.Sprintf("PUB $JS.API.STREAM.CREATE.%s answers %d\r\n%s\r\n", n.Name, len(n.Text), n.Text)
		if n.Kind == "message" {
			header := "NATS/1.0\r\n"
			for line := range strings.SplitSeq(n.Header, "\r\n") {
				if line != "" && !strings.HasPrefix(line, "Nats-Expected-") {
					header += line + "\r\n"
				}
			}
			header += "\r\n"
			request = fmt.Sprintf("HPUB %s answers %d %d\r\n%s%s\r\n", n.Name, len(header), len(header)+len(n.Text), header, n.Text)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		line := ""
		for !strings.HasPrefix(line, "MSG ") { // INFO and PING may come before
			if line, err = lines.ReadString('\n'); err != nil || strings.HasPrefix(line, "-ERR") {
				return fmt.Errorf("%s: %q, %w", n.Name, line, err)
			}
		}
		answer, err := lines.ReadString('\n')
		if err != nil || strings.Contains(answer, `"error"`) {
			return fmt.Errorf("%s: %q, %w", n.Name, answer, err)
		}
	}
	return nil
}
