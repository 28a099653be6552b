package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// everysecLoss is the loss of a crash with appendfsync everysec: the sync of
// each second may be put off by another while the disk is busy (Redis,
// "Redis persistence": up to two seconds).
const everysecLoss = 2 * time.Second

// lagSlack is for how much longer than min-replicas-max-lag a primary accepts
// writes: 2.11 s by the sum at DefaultLoss, and some more for a server that is
// late. 2.4 s were measured on a machine that was far too busy.
const lagSlack = 3 * time.Second

// A ServerError is returned for a server that this store can't stand on. Its registers were not read or
// written.
type ServerError struct {
	// Server is its address.
	Server string
	// Setting and Value are the server's own. An empty value was not shown.
	Setting, Value string
	// Reason has the required value.
	Reason string
}

// Error names the server, the setting, its value and the required value. It must stay without Unwrap:
// the client library returns wrapped errors in the place of inspect's own.
func (e *ServerError) Error() string {
	value := fmt.Sprintf("is %q", e.Value)
	if e.Value == "" {
		value = "can't be read"
	}
	return fmt.Sprintf("redisstore: server %s: %s %s: %s", e.Server, e.Setting, value, e.Reason)
}

// settings are a server's own settings, by name. Names of CONFIG and INFO differ, so that both fit in.
type settings map[string]string

// inspector returns a function that judges a server by a new connection, before anything else is sent
// on it.
func (c Config) inspector(server string) func(context.Context, *redis.Conn) error {
	return func(ctx context.Context, connection *redis.Conn) error {
		found, err := c.ask(ctx, server, connection)
		if err != nil {
			return err
		}
		if c.Sentinel != "" && found["redis_mode"] == "sentinel" {
			return nil // it is asked for the primary alone
		}
		return c.judge(server, found)
	}
}

// ask reads a server's settings, as far as the user may.
func (c Config) ask(ctx context.Context, server string, connection *redis.Conn) (settings, error) {
	var info *redis.StringCmd
	var config, lag *redis.MapStringStringCmd
	_, err := connection.Pipelined(ctx, func(p redis.Pipeliner) error {
		info = p.Info(ctx)
		config = p.ConfigGet(ctx, "*append*")
		lag = p.ConfigGet(ctx, "min-replicas-*") // before 7.0 there is one pattern to a command
		return nil
	})
	if refused(info.Err()) {
		return nil, &ServerError{Server: server, Setting: "INFO", Reason: "the user must have the right to run it: " + info.Err().Error()}
	}
	if err != nil && !refused(err) {
		return nil, err
	}
	found := parseInfo(info.Val())
	maps.Copy(found, config.Val())
	maps.Copy(found, lag.Val())
	// Valkey has a name of its own for it.
	found["redis_mode"] = cmp.Or(found["redis_mode"], found["server_mode"])
	if found["maxmemory_policy"] == "" {
		memory, err := connection.ConfigGet(ctx, "maxmemory*").Result()
		if err != nil && !refused(err) {
			return nil, err
		}
		found["maxmemory"], found["maxmemory_policy"] = memory["maxmemory"], memory["maxmemory-policy"]
	}
	return found, nil
}

// judge returns a *ServerError if the settings break a demand of the package's comment.
func (c Config) judge(server string, found settings) error {
	refuse := func(setting, reason string) error {
		return &ServerError{Server: server, Setting: setting, Value: found[setting], Reason: reason}
	}
	if found["redis_mode"] != "standalone" {
		return refuse("redis_mode", "must be standalone: a cluster is not supported, and a Sentinel needs sentinel=<name>")
	}
	if found["role"] != "master" {
		return refuse("role", "must be master: a replica does not decide")
	}
	if found["loading"] == "1" {
		return refuse("loading", "must be 0: it is still reading its disk")
	}
	switch policy := found["maxmemory_policy"]; {
	case policy == "noeviction", found["maxmemory"] == "0":
	case policy != "":
		return refuse("maxmemory_policy", "must be noeviction, or maxmemory 0: registers may not be evicted")
	case !c.NoEviction:
		return refuse("maxmemory_policy", "must be noeviction: assert noeviction=true if it is")
	}
	if err := c.judgeLag(found, refuse); err != nil || c.Replicated {
		return err
	}
	return c.judgeSync(found, refuse)
}

// judgeLag judges how far a replica may lag that takes the primary's place. A
// primary with min-replicas-to-write stops when fewer replicas than that answer:
// so this bounds the lag of all only if it is as many as there are. Where nothing
// bounds it, the loss is the operator's to assert, and the default is a guess.
func (c Config) judgeLag(found settings, refuse func(setting, reason string) error) error {
	if c.Durable {
		return nil // asserts that none takes its place
	}
	// An unreadable setting counts as 0, which switches either off.
	least, _ := strconv.Atoi(found["min-replicas-to-write"])
	lag, _ := strconv.Atoi(found["min-replicas-max-lag"])
	if longest := time.Duration(lag)*time.Second + lagSlack; least > 0 && lag > 0 && c.Loss < longest {
		return refuse("min-replicas-max-lag", fmt.Sprintf("must be less with a loss of %v, which must be at least %v: "+
			"so long a primary accepts writes that no replica gets", c.Loss, longest))
	}
	replicas := found.replicas()
	failover := replicas > 0 || c.Sentinel != "" || len(c.Endpoints) > 1 || c.Replicated
	if !c.guessed || !failover || lag > 0 && least >= max(1, replicas) {
		return nil
	}
	return refuse("min-replicas-to-write", fmt.Sprintf("must be at least %d, all the replicas, and min-replicas-max-lag above 0: "+
		"nothing bounds what a failover loses; a server then refuses writes while one is missing, as after a failover; "+
		"or say loss=, if what promotes refuses a replica that lags further", max(1, replicas)))
}

// replicas returns how many replicas INFO shows. One that is still getting its first copy does not
// count, and may be a backup.
func (s settings) replicas() (n int) {
	for name, value := range s {
		if strings.HasPrefix(name, "slave") && strings.HasPrefix(value, "ip=") &&
			!strings.Contains(value, "state=wait_bgsave") && !strings.Contains(value, "state=send_bulk") {
			n++
		}
	}
	return n
}

// judgeSync judges the loss of a crash of the server. Unreadable settings are the operator's to ensure,
// and durable=true, or the loss, asserts them. With appendfsync always Redis answers a write, and a
// read of it, only after the sync. So a read is as durable as an acknowledged write.
func (c Config) judgeSync(found settings, refuse func(setting, reason string) error) error {
	const excuse = "assert replicated=true if a replica always takes its place"
	switch {
	case found["aof_enabled"] == "0":
		return refuse("aof_enabled", "must be 1 (appendonly yes): a restart would forget registers; "+excuse)
	case found["appendonly"] == "no":
		return refuse("appendonly", "must be yes: a restart would forget registers; "+excuse)
	case found["aof_enabled"] == "" && found["appendonly"] == "":
		return refuse("appendonly", "must be shown by INFO or CONFIG GET: whether a restart forgets registers can't be seen; "+excuse)
	case found["no-appendfsync-on-rewrite"] == "yes":
		return refuse("no-appendfsync-on-rewrite", "must be no: nothing is synced meanwhile")
	case found["appendfsync"] == "", found["appendfsync"] == "always":
		return nil
	case c.Durable:
		return refuse("appendfsync", "must be always where durable=true is asserted")
	case found["appendfsync"] != "everysec":
		return refuse("appendfsync", "must be everysec or always")
	case c.Loss < everysecLoss:
		return refuse("appendfsync", fmt.Sprintf("must be always with a loss of %v: everysec can lose %v", c.Loss, everysecLoss))
	}
	return nil
}

// parseInfo takes INFO's lines apart.
func parseInfo(text string) settings {
	found := make(settings)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			found[name] = value
		}
	}
	return found
}

// refused reports whether an error is a server's reply, and not a failure to
// get one.
func refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}
