package testkit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// MariaDB starts a MariaDB server that syncs every commit and keeps a binary
// log, and offers TLS if its folder holds server.crt and server.key when it
// starts, and server.ca for the authority of its clients. SQLUser may do anything in it. More arguments, such as
// "--sync-binlog=0", are added to its command line; they win.
func MariaDB(t testing.TB, arguments ...string) *Server {
	t.Helper()
	return StartServer(t, Program{
		Name: "mariadbd", Package: "mariadb-server", Places: []string{"/usr/sbin"}, User: "mysql",
		Prepare: func(s *Server) error {
			script := fmt.Sprintf("CREATE DATABASE IF NOT EXISTS %s;\n"+
				"CREATE USER IF NOT EXISTS '%s'@'%%' IDENTIFIED BY '%s';\nGRANT ALL ON *.* TO '%s'@'%%' WITH GRANT OPTION;\n",
				SQLDatabase, SQLUser, SQLPassword, SQLUser)
			if err := os.WriteFile(filepath.Join(s.Dir, "init.sql"), []byte(script), 0o644); err != nil {
				return err
			}
			// A server that starts removes the temporary tables in its folder for
			// them, whosever they are.
			_, err := s.Run(context.Background(), "mariadb-install-db", "--no-defaults", "--datadir="+filepath.Join(s.Dir, "data"), "--tmpdir="+s.Dir,
				"--auth-root-authentication-method=normal", "--skip-test-db", "--innodb-log-file-size=16M", "--innodb-buffer-pool-size=16M")
			return err
		},
		Arguments: func(s *Server) []string {
			own := []string{
				"--no-defaults", "--datadir=" + filepath.Join(s.Dir, "data"), "--tmpdir=" + s.Dir, "--init-file=" + filepath.Join(s.Dir, "init.sql"),
				"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.Ports[0]), "--socket=" + filepath.Join(s.Dir, "socket"),
				"--pid-file=" + filepath.Join(s.Dir, "pid"), "--skip-name-resolve", "--skip-slave-start",
				"--innodb-buffer-pool-size=16M", "--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=1",
				"--log-bin=" + filepath.Join(s.Dir, "data", "binlog"), "--server-id=1", "--sync-binlog=1",
				"--max-connections=60", "--performance-schema=off",
			}
			certificate, key := filepath.Join(s.Dir, "server.crt"), filepath.Join(s.Dir, "server.key")
			if fileExists(certificate) {
				own = append(own, "--ssl-cert="+certificate, "--ssl-key="+key)
			}
			if ca := filepath.Join(s.Dir, "server.ca"); fileExists(ca) {
				own = append(own, "--ssl-ca="+ca)
			}
			return append(own, arguments...)
		},
		Ready: mariadbGreets,
	})
}

// mariadbGreets is ready once the server greets a client: it does so when its
// tables are open and the init file is done.
func mariadbGreets(ctx context.Context, s *Server) error {
	// A packet of version 10 of the protocol: four bytes of length and number first.
	greeting, err := ask(ctx, s.Addr(), "", func(r *bufio.Reader) (string, error) {
		head, err := r.Peek(5)
		return string(head), err
	})
	if err != nil {
		return err
	}
	if greeting[4] != 10 {
		return errors.New("the server does not greet its clients")
	}
	return nil
}
