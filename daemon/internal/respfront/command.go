package respfront

import (
	"bytes"
	"slices"
	"strings"
)

// command is one command, and its description for COMMAND.
type command struct {
	name    string // in capitals
	least   int    // arguments, beside the name
	most    int    // the same; any number if it is -1
	key     bool   // whether the first argument is a key
	write   bool   // whether it uses something up
	before  bool   // whether a client may send it before it has shown its token
	group   string // as COMMAND DOCS has it
	summary string
	syntax  []argument
	answer  func(*conn, [][]byte)
	subs    []command // the first argument is one of them, if there is any; their groups and syntax are left out
}

// argument is one argument, for the hints of redis-cli.
type argument struct {
	name     string
	kind     string // key, string, integer or pure-token
	token    string // a word in front, or the whole
	optional bool
}

// commands lists every command.
func commands() []command {
	const ids, transactions, link, server = "generic", "transactions", "connection", "server"
	key := argument{name: "key", kind: "key"}
	borrower := []argument{
		{name: "now", kind: "integer", token: "NOW"}, {name: "host", kind: "string", token: "HOST", optional: true},
		{name: "pid", kind: "integer", token: "PID", optional: true}, {name: "program", kind: "string", token: "PROGRAM", optional: true},
	}
	lent := append([]argument{{name: "lease", kind: "string", token: "LEASE"}, {name: "mark", kind: "string", token: "MARK"}}, borrower...)
	client := []command{
		{name: "SETNAME", least: 1, most: 1, answer: (*conn).setName}, {name: "GETNAME", answer: (*conn).getName},
		{name: "ID", answer: func(c *conn, _ [][]byte) { c.integer(c.id) }}, {name: "INFO", answer: (*conn).clientInfo}, {name: "LIST", answer: (*conn).clientInfo},
		{name: "SETINFO", least: 2, most: 2, answer: (*conn).agree}, {name: "TRACKING", least: 1, most: -1, answer: (*conn).agree},
		{name: "CACHING", least: 1, most: 1, answer: (*conn).agree}, {name: "NO-EVICT", least: 1, most: 1, answer: (*conn).agree},
		{name: "NO-TOUCH", least: 1, most: 1, answer: (*conn).agree}, {name: "REPLY", least: 1, most: 1, answer: (*conn).clientReply},
	}
	about := []command{
		{name: "COUNT", answer: func(c *conn, _ [][]byte) { c.integer(int64(len(c.table))) }},
		{name: "INFO", most: -1, answer: (*conn).commandInfo}, {name: "DOCS", most: -1, answer: (*conn).commandDocs},
	}
	silent := func(*conn, [][]byte) {} // as in Redis
	replica := []command{{name: "ACK", least: 1, most: 1, answer: silent}, {name: "GETACK", least: 1, most: 1, answer: silent}}
	config := []command{{name: "GET", least: 1, most: -1, answer: (*conn).configGet}}
	return []command{
		{"INCR", 1, 1, true, true, false, ids, "Mints one id of the generator that is named by the key.", []argument{key}, (*conn).incr, nil},
		{"INCRBY", 2, 2, true, true, false, ids, "Reserves consecutive numbers of a counter, and returns the last of them.", []argument{key, {name: "increment", kind: "integer"}}, (*conn).incrBy, nil},
		{"ID.NEXT", 1, 4, true, true, false, ids, "Mints ids, as bulk strings or as ranges.", []argument{
			key, {name: "n", kind: "integer", token: "COUNT", optional: true}, {name: "ranges", kind: "pure-token", token: "RANGES", optional: true},
		}, (*conn).idNext, nil},
		{"ID.DECODE", 1, 3, false, false, false, ids, "Returns the time, worker id and sequence of an id.", []argument{
			{name: "id", kind: "string"}, {name: "layout", kind: "string", token: "LAYOUT", optional: true}, {name: "generator", kind: "string", token: "GENERATOR", optional: true},
		}, (*conn).decode, nil},
		{"LEASE.CLAIM", 3, 9, true, true, false, ids, "Lends a worker id, with its bounds.", append([]argument{key}, borrower...), (*conn).claim, nil},
		{"LEASE.EXTEND", 7, 13, true, true, false, ids, "Moves the bound of a lent worker id.", append([]argument{key}, lent...), (*conn).extend, nil},
		{"LEASE.RELEASE", 5, 17, true, true, false, ids, "Gives a lent worker id back.", append([]argument{key}, append(lent,
			argument{name: "tick", kind: "integer", token: "NEXT", optional: true}, argument{name: "open", kind: "string", token: "OPEN", optional: true})...), (*conn).giveBack, nil},
		{"GET", 1, 1, true, false, false, ids, "Is refused: it never mints an id.", []argument{key}, (*conn).get, nil},

		{"MULTI", 0, 0, false, false, false, transactions, "Begins a transaction: commands are answered by EXEC.", nil, (*conn).multi, nil},
		{"EXEC", 0, -1, false, false, false, transactions, "Answers the commands of the transaction.", nil, (*conn).exec, nil},
		{"DISCARD", 0, 0, false, false, false, transactions, "Forgets the commands of the transaction.", nil, (*conn).discard, nil},
		{"WATCH", 1, -1, true, false, false, transactions, "Changes nothing: no key has a value that a client could have read.", []argument{key}, (*conn).watch, nil},
		{"UNWATCH", 0, 0, false, false, false, transactions, "Changes nothing.", nil, (*conn).agree, nil},

		{"AUTH", 1, -1, false, false, true, link, "Shows the token.", []argument{{name: "username", kind: "string", optional: true}, {name: "password", kind: "string"}}, (*conn).auth, nil},
		{"HELLO", 0, -1, false, false, true, link, "Chooses the version of the protocol.", []argument{{name: "protover", kind: "integer", optional: true}}, (*conn).hello, nil},
		{"PING", 0, -1, false, false, false, link, "Returns PONG, or the message.", []argument{{name: "message", kind: "string", optional: true}}, (*conn).ping, nil},
		{"ECHO", 1, 1, false, false, false, link, "Returns the message.", []argument{{name: "message", kind: "string"}}, (*conn).echo, nil},
		{"SELECT", 1, 1, false, false, false, link, "Selects database 0, the only one.", []argument{{name: "index", kind: "integer"}}, (*conn).selectDB, nil},
		{"CLIENT", 1, -1, false, false, false, link, "Names the connection, or returns what is known of it.", nil, nil, client},
		{"QUIT", 0, -1, false, false, true, link, "Closes the connection.", nil, (*conn).quit, nil},
		{"RESET", 0, 0, false, false, true, link, "Forgets what the connection has set.", nil, (*conn).reset, nil},

		{"INFO", 0, -1, false, false, false, server, "Returns what is known of the server.", []argument{{name: "section", kind: "string", optional: true}}, (*conn).info, nil},
		{"COMMAND", 0, -1, false, false, false, server, "Returns the commands of the server.", nil, (*conn).commandInfo, about},
		{"CONFIG", 1, -1, false, false, false, server, "Returns the few settings that clients ask for.", nil, nil, config},
		{"CLUSTER", 1, -1, false, false, false, server, "Is refused: the server is no cluster of Redis.", nil, (*conn).cluster, nil},
		{"REPLCONF", 1, -1, false, false, false, server, "Returns nothing to ACK and GETACK, and is refused else.", nil, nil, replica},
	}
}

// do answers one command.
func (c *conn) do() {
	name, args := c.parts[0], c.parts[1:]
	// Most commands are this one, so it spares the way through the table.
	if c.authorized && len(args) == 1 && c.open == nil && c.silence != silentNext && is(name, "INCR") {
		c.incr(args)
		return
	}
	c.settle() // answers keep the order of their commands
	if c.silence == silentNext {
		c.skipped(c.do)
		return
	}
	known := c.find(name)
	queued := c.open != nil && known != nil && !known.atOnce()
	if known != nil && known.subs != nil && len(args) > 0 {
		known, args = known.sub(args[0]), args[1:]
	}
	switch {
	case !c.authorized && (known == nil || !known.before):
		c.reject("NOAUTH Authentication required.")
	case known == nil:
		c.reject("ERR unknown command '" + c.shown(args) + "'")
	case len(args) < known.least || known.most >= 0 && len(args) > known.most:
		c.reject("ERR wrong number of arguments for '" + strings.ToLower(c.shown(args)) + "' command")
	case queued:
		c.queue(known)
	default:
		known.answer(c, args)
	}
}

// shown is the name of the present command, and of its subcommand, before its arguments.
func (c *conn) shown(args [][]byte) string {
	return clip(bytes.Join(c.parts[:len(c.parts)-len(args)], []byte("|")))
}

// sub returns the subcommand of a name, or nil.
func (c *command) sub(name []byte) *command {
	for i := range c.subs {
		if is(name, c.subs[i].name) {
			return &c.subs[i]
		}
	}
	return nil
}

// find returns the command of a name in small or large letters, or nil. Programs send one of the two,
// and find does not allocate for them.
func (s *Server) find(name []byte) *command {
	if known := s.commands[string(name)]; known != nil {
		return known
	}
	return s.commands[strings.ToUpper(string(name))]
}

func (c *conn) commandInfo(names [][]byte) {
	found := make(list, 0, max(len(names), len(c.table)))
	for _, name := range names {
		var info any // nil for an unknown name
		if known := c.find(name); known != nil {
			info = known.describe()
		}
		found = append(found, info)
	}
	for i := 0; len(names) == 0 && i < len(c.table); i++ {
		found = append(found, c.table[i].describe())
	}
	c.value(found)
}

func (c *conn) commandDocs(names [][]byte) {
	var docs object
	for _, known := range c.table {
		if len(names) == 0 || slices.ContainsFunc(names, func(name []byte) bool { return is(name, known.name) }) {
			docs = append(docs, strings.ToLower(known.name), known.docs())
		}
	}
	c.value(docs)
}

// describe returns the ten fields of COMMAND. The last three are tips, specifications of keys, and
// subcommands, and are empty.
func (c command) describe() list {
	arity := c.least + 1
	if c.least != c.most {
		arity = -arity // at least so many
	}
	flags := list{status("fast")}
	if c.write {
		flags = append(flags, status("write"))
	}
	if c.before {
		flags = append(flags, status("no_auth"))
	}
	first, last, step := 0, 0, 0
	if c.key {
		first, last, step = 1, 1, 1
	}
	return list{strings.ToLower(c.name), arity, flags, first, last, step, list{status("@" + c.group)}, list{}, list{}, list{}}
}

// docs returns the answer to COMMAND DOCS, from which redis-cli makes hints.
func (c command) docs() object {
	syntax := list{}
	for _, a := range c.syntax {
		fields := object{"name", a.name, "type", a.kind}
		if a.token != "" {
			fields = append(fields, "token", a.token)
		}
		if a.optional {
			fields = append(fields, "flags", list{status("optional")})
		}
		syntax = append(syntax, fields)
	}
	return object{"summary", c.summary, "since", "1.0.0", "group", c.group, "arguments", syntax}
}
