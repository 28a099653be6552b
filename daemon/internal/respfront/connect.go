package respfront

import (
	"bytes"
	"fmt"
	"runtime/metrics"
	"strings"

	"snowfence.example/snowfence/daemon/internal/front"
)

// redisVersion is the version of Redis whose commands at connect the front has. Clients choose their
// commands by it.
const redisVersion = "7.4.0"

// auth answers AUTH [name] token. A name is taken and not looked at, as tokens have their own.
func (c *conn) auth(args [][]byte) {
	if len(args) > 2 {
		c.refuse("ERR syntax error")
		return
	}
	if !c.config.Service.Guarded() {
		c.refuse("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
		return
	}
	if c.authorize(args[len(args)-1]) {
		c.ok()
	}
}

// authorize shows a token, or answers with an error. As in Redis, a wrong token leaves the rights as
// they are. A few of them end the connection, whatever else it has shown: or one connection could try
// any number.
func (c *conn) authorize(token []byte) bool {
	client := c.config.Service.Client(c.address)
	err := client.Authorize(string(token))
	if err == nil {
		c.client, c.authorized = client, true
		return true
	}
	if c.guesses.Note(client) {
		last := *front.ProblemOf(err)
		last.Detail += fmt.Sprintf("; the connection ends after %d wrong tokens: connect again with the right one", front.MaxGuesses)
		err, c.closing = &last, true
	}
	c.report(err, false)
	return false
}

// named gives the connection a name, or answers with the error of Redis.
func (c *conn) named(name []byte) bool {
	if bytes.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' }) {
		c.refuse("ERR Client names cannot contain spaces, newlines or special characters.")
		return false
	}
	c.name = string(name)
	return true
}

// hello answers HELLO [2|3 [AUTH name token] [SETNAME name]].
func (c *conn) hello(args [][]byte) {
	proto, name := c.proto, []byte(c.name)
	if len(args) > 0 {
		n, ok := count(args[0])
		if !ok || n != 2 && n != 3 {
			c.refuse("NOPROTO unsupported protocol version")
			return
		}
		proto, args = n, args[1:]
	}
	for len(args) > 0 {
		switch {
		case is(args[0], "AUTH") && len(args) >= 3:
			if c.config.Service.Guarded() && !c.authorize(args[2]) {
				return
			}
			args = args[3:]
		case is(args[0], "SETNAME") && len(args) >= 2:
			name, args = args[1], args[2:]
		default:
			c.refuse("ERR Syntax error in HELLO option '" + clip(args[0]) + "'")
			return
		}
	}
	if !c.authorized {
		c.refuse("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
		return
	}
	if !c.named(name) {
		return
	}
	c.proto = proto
	c.value(object{
		"server", "redis", "version", redisVersion, "proto", c.proto, "id", int(c.id),
		"mode", "standalone", "role", "master", "modules", list{},
	})
}

func (c *conn) ping(args [][]byte) {
	switch len(args) {
	case 0:
		c.simple("PONG")
	case 1:
		c.bulk(args[0])
	default:
		c.refuse("ERR wrong number of arguments for 'ping' command")
	}
}

func (c *conn) echo(args [][]byte) { c.bulk(args[0]) }

func (c *conn) selectDB(args [][]byte) {
	if n, ok := count(args[0]); !ok || n != 0 {
		c.refuse("ERR DB index is out of range")
		return
	}
	c.ok()
}

func (c *conn) quit([][]byte) {
	c.ok()
	c.closing = true
}

func (c *conn) reset([][]byte) {
	c.client = c.config.Service.Client(c.address)
	c.proto, c.name, c.authorized = 2, "", !c.config.Service.Guarded()
	c.end()
	if c.silence == silentAlways {
		c.hush(silentNever)
	}
	c.simple("RESET")
}

// setName answers CLIENT SETNAME.
func (c *conn) setName(args [][]byte) {
	if c.named(args[0]) {
		c.ok()
	}
}

// getName answers CLIENT GETNAME.
func (c *conn) getName([][]byte) {
	if c.name == "" {
		c.null()
		return
	}
	c.bulkString(c.name)
}

// clientInfo answers CLIENT INFO and CLIENT LIST.
func (c *conn) clientInfo([][]byte) {
	c.bulkString(fmt.Sprintf("id=%d addr=%s laddr=%s name=%s db=0 resp=%d\n", c.id, c.net.RemoteAddr(), c.net.LocalAddr(), c.name, c.proto))
}

// agree answers commands that change nothing. The front does not track the caches of clients, because
// its replies must not be cached.
func (c *conn) agree([][]byte) { c.ok() }

// info answers INFO. Each section is sent for every name, since there are few.
func (c *conn) info([][]byte) {
	c.bulkString(fmt.Sprintf("# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\nuptime_in_seconds:%d\r\nsnowfence_version:%s\r\n"+
		"# Clients\r\nconnected_clients:%d\r\nblocked_clients:0\r\nmaxclients:%d\r\n# Memory\r\nused_memory:%d\r\n# Persistence\r\nloading:0\r\nasync_loading:0\r\n"+
		"# Stats\r\ntotal_connections_received:%d\r\ntotal_commands_processed:%d\r\n"+
		"# Replication\r\nrole:master\r\nconnected_slaves:0\r\n# Cluster\r\ncluster_enabled:0\r\n# Keyspace\r\n",
		redisVersion, int64((c.meter.Began() - c.up).Seconds()), c.config.Version, c.connected.Load(), c.limits.Connections,
		usedMemory(), c.clients.Load(), c.processed.Load()+int64(c.answered)))
}

// usedMemory is the memory of the process in bytes, as its limit counts it.
func usedMemory() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}

// configGet answers CONFIG GET for redis-benchmark, which asks whether the server writes to a disk.
func (c *conn) configGet(args [][]byte) {
	found := object{}
	for _, setting := range [][2]string{{"save", ""}, {"appendonly", "no"}, {"databases", "1"}} {
		for _, name := range args {
			if is(name, strings.ToUpper(setting[0])) || is(name, "*") {
				found = append(found, setting[0], setting[1])
			}
		}
	}
	c.value(found)
}

func (c *conn) cluster([][]byte) {
	c.reject("ERR This instance has cluster support disabled")
}
