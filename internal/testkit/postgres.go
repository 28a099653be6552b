package testkit

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// postgresPlaces is where Debian puts programs outside of everyone's PATH.
const postgresPlaces = "/usr/lib/postgresql/*/bin"

// Postgres starts a PostgreSQL server that syncs every commit, asks for
// passwords, and offers TLS if its folder holds server.crt and server.key when
// it starts, and server.ca for the authority of its clients. SQLUser is its superuser. Settings, as name=value, are added to
// its command line.
func Postgres(t testing.TB, settings ...string) *Server {
	t.Helper()
	return postgres(t, settings, func(s *Server) error {
		secret := filepath.Join(s.Dir, "password")
		if err := os.WriteFile(secret, []byte(SQLPassword+"\n"), 0o644); err != nil {
			return err
		}
		data := filepath.Join(s.Dir, "data")
		if _, err := s.Run(context.Background(), "initdb", "--pgdata", data, "--username", SQLUser, "--pwfile", secret,
			"--auth-host", "scram-sha-256", "--auth-local", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"); err != nil {
			return err
		}
		// A server of one user can make the database while nobody else is there.
		return postgresAlone(s, data, "CREATE DATABASE "+SQLDatabase)
	})
}

// PostgresStandbyOf starts a PostgreSQL server that follows another one and
// answers reads.
func PostgresStandbyOf(t testing.TB, primary *Server) *Server {
	t.Helper()
	return postgres(t, nil, func(s *Server) error { return postgresCopy(s, primary.Addr()) })
}

// postgresCopy makes a server that does not run a standby of the one at an address.
func postgresCopy(s *Server, primary string) error {
	data := filepath.Join(s.Dir, "data")
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	source := "postgres://" + url.UserPassword(SQLUser, SQLPassword).String() + "@" + primary
	_, err := s.Run(context.Background(), "pg_basebackup", "--pgdata", data, "--dbname", source,
		"--write-recovery-conf", "--checkpoint", "fast", "--no-sync")
	return err
}

// postgres starts a server on a folder that prepare fills.
func postgres(t testing.TB, settings []string, prepare func(*Server) error) *Server {
	t.Helper()
	return StartServer(t, Program{
		Name: "postgres", Package: "postgresql", Places: []string{postgresPlaces}, User: "postgres",
		Prepare: prepare,
		Arguments: func(s *Server) []string {
			arguments := []string{
				"-D", filepath.Join(s.Dir, "data"), "-p", strconv.Itoa(s.Ports[0]),
				"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + s.Dir,
				"-c", "shared_buffers=16MB", "-c", "max_connections=60", "-c", "fsync=on",
			}
			if fileExists(filepath.Join(s.Dir, "server.crt")) {
				arguments = append(arguments, "-c", "ssl=on",
					"-c", "ssl_cert_file="+filepath.Join(s.Dir, "server.crt"), "-c", "ssl_key_file="+filepath.Join(s.Dir, "server.key"))
			}
			if fileExists(filepath.Join(s.Dir, "server.ca")) {
				arguments = append(arguments, "-c", "ssl_ca_file="+filepath.Join(s.Dir, "server.ca"))
			}
			for _, setting := range settings {
				arguments = append(arguments, "-c", setting)
			}
			return arguments
		},
		// SIGTERM would wait for clients to go by themselves.
		Ending: syscall.SIGINT,
		Ready: func(ctx context.Context, s *Server) error {
			_, err := s.Run(ctx, "pg_isready", "--host", "127.0.0.1", "--port", strconv.Itoa(s.Ports[0]))
			return err
		},
	})
}

// PgBouncer starts a pooler in front of a PostgreSQL server. Its mode is
// "session", "transaction" or "statement": the use of a connection to the server. It has few of them,
// but in session mode, where every client needs one.
func PgBouncer(t testing.TB, behind *Server, mode string) *Server {
	t.Helper()
	connections := "3"
	if mode == "session" {
		connections = "40"
	}
	return StartServer(t, Program{
		Name: "pgbouncer", Package: "pgbouncer", Places: []string{"/usr/sbin"}, User: "postgres",
		Prepare: func(s *Server) error {
			config := "[databases]\n* = host=127.0.0.1 port=" + strconv.Itoa(behind.Ports[0]) + "\n" +
				"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " + strconv.Itoa(s.Ports[0]) + "\nunix_socket_dir =\n" +
				"auth_type = scram-sha-256\nauth_file = " + filepath.Join(s.Dir, "users") + "\n" +
				"pool_mode = " + mode + "\ndefault_pool_size = " + connections + "\n"
			users := `"` + SQLUser + `" "` + SQLPassword + "\"\n"
			if err := os.WriteFile(filepath.Join(s.Dir, "users"), []byte(users), 0o644); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(s.Dir, "pgbouncer.ini"), []byte(config), 0o644)
		},
		Arguments: func(s *Server) []string { return []string{filepath.Join(s.Dir, "pgbouncer.ini")} },
		Ending:    syscall.SIGINT,
		Ready:     Accepts,
	})
}

// postgresAlone runs a statement in a server that nobody can connect to.
func postgresAlone(s *Server, data, statement string) error {
	// It reads statements from its standard input, which Run leaves empty.
	script := filepath.Join(s.Dir, "alone.sql")
	if err := os.WriteFile(script, []byte(statement+"\n"), 0o644); err != nil {
		return err
	}
	path, err := find("postgres", s.program.Places)
	if err != nil {
		return err
	}
	_, err = s.Run(context.Background(), "sh", "-c", `exec "$1" --single -D "$2" postgres <"$3"`, "sh", path, data, script)
	return err
}
