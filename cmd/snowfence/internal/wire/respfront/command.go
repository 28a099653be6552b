package respfront

import (
	"slices"
	"strings"
)

// command is one command, and what COMMAND says of it.
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
	return []command{
		{"INCR", 1, 1, true, true, false, ids, "Mints one id of the generator that is named by the key.", []argument{key}, (*conn).incr},
		{"INCRBY", 2, 2, true, true, false, ids, "Reserves consecutive numbers of a counter, and returns the last of them.", []argument{key, {name: "increment", kind: "integer"}}, (*conn).incrBy},
		{"ID.NEXT", 1, 4, true, true, false, ids, "Mints ids, as bulk strings or as ranges.", []argument{
			key, {name: "n", kind: "integer", token: "COUNT", optional: true}, {name: "ranges", kind: "pure-token", token: "RANGES", optional: true},
		}, (*conn).idNext},
		{"ID.DECODE", 1, 3, false, false, false, ids, "Returns what an id says: its time, worker id and sequence.", []argument{
			{name: "id", kind: "string"}, {name: "layout", kind: "string", token: "LAYOUT", optional: true}, {name: "generator", kind: "string", token: "GENERATOR", optional: true},
		}, (*conn).decode},
		{"GET", 1, 1, true, false, false, ids, "Is refused: it never mints an id.", []argument{key}, (*conn).get},

		{"MULTI", 0, 0, false, false, false, transactions, "Begins a transaction: commands are answered by EXEC.", nil, (*conn).multi},
		{"EXEC", 0, -1, false, false, false, transactions, "Answers the commands of the transaction.", nil, (*conn).exec},
		{"DISCARD", 0, 0, false, false, false, transactions, "Forgets the commands of the transaction.", nil, (*conn).discard},
		{"WATCH", 1, -1, true, false, false, transactions, "Changes nothing: no key has a value that a client could have read.", []argument{key}, (*conn).watch},
		{"UNWATCH", 0, 0, false, false, false, transactions, "Changes nothing.", nil, (*conn).unwatch},

		{"AUTH", 1, 2, false, false, true, link, "Shows the token.", []argument{{name: "username", kind: "string", optional: true}, {name: "password", kind: "string"}}, (*conn).auth},
		{"HELLO", 0, -1, false, false, true, link, "Chooses the version of the protocol.", []argument{{name: "protover", kind: "integer", optional: true}}, (*conn).hello},
		{"PING", 0, 1, false, false, false, link, "Returns PONG, or the message.", []argument{{name: "message", kind: "string", optional: true}}, (*conn).ping},
		{"ECHO", 1, 1, false, false, false, link, "Returns the message.", []argument{{name: "message", kind: "string"}}, (*conn).echo},
		{"SELECT", 1, 1, false, false, false, link, "Selects database 0, the only one.", []argument{{name: "index", kind: "integer"}}, (*conn).selectDB},
		{"CLIENT", 1, -1, false, false, false, link, "Names the connection, or returns what is known of it.", nil, (*conn).clientCommand},
		{"QUIT", 0, -1, false, false, true, link, "Closes the connection.", nil, (*conn).quit},
		{"RESET", 0, 0, false, false, true, link, "Forgets what the connection has set.", nil, (*conn).reset},

		{"INFO", 0, -1, false, false, false, server, "Returns what is known of the server.", []argument{{name: "section", kind: "string", optional: true}}, (*conn).info},
		{"COMMAND", 0, -1, false, false, false, server, "Returns the commands of the server.", nil, (*conn).command},
		{"CONFIG", 1, -1, false, false, false, server, "Returns the few settings that clients ask for.", nil, (*conn).configCommand},
		{"CLUSTER", 1, -1, false, false, false, server, "Is refused: the server is no cluster of Redis.", nil, (*conn).cluster},
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
	switch {
	case !c.authorized && (known == nil || !known.before):
		c.reject("NOAUTH Authentication required.")
	case known == nil:
		c.reject("ERR unknown command '" + clip(name) + "'")
	case len(args) < known.least || known.most >= 0 && len(args) > known.most:
		c.reject("ERR wrong number of arguments for '" + strings.ToLower(known.name) + "' command")
	case c.open != nil && !known.atOnce():
		c.queue(known, args)
	default:
		known.answer(c, args)
	}
}

// find returns the command of a name in small or large letters, or nil. Programs send one of the two,
// and for those nothing is allocated.
func (s *Server) find(name []byte) *command {
	if known := s.commands[string(name)]; known != nil {
		return known
	}
	return s.commands[strings.ToUpper(string(name))]
}

// command answers COMMAND, COMMAND COUNT, COMMAND INFO and COMMAND DOCS.
func (c *conn) command(args [][]byte) {
	switch {
	case len(args) == 0, len(args) == 1 && is(args[0], "INFO"):
		var all list
		for _, known := range c.table {
			all = append(all, known.describe())
		}
		c.value(all)
	case len(args) == 1 && is(args[0], "COUNT"):
		c.integer(int64(len(c.table)))
	case is(args[0], "INFO"):
		found := make(list, len(args)-1)
		for i, name := range args[1:] {
			if known := c.find(name); known != nil {
				found[i] = known.describe()
			}
		}
		c.value(found)
	case is(args[0], "DOCS"):
		var docs object
		for _, known := range c.table {
			if len(args) == 1 || slices.ContainsFunc(args[1:], func(name []byte) bool { return is(name, known.name) }) {
				docs = append(docs, strings.ToLower(known.name), known.docs())
			}
		}
		c.value(docs)
	default:
		c.refuse("ERR unknown subcommand '" + clip(args[0]) + "'. Try COUNT, INFO or DOCS.")
	}
}

// describe returns the ten fields of COMMAND. The last three are tips, specifications of keys, and
// subcommands, of which there are none.
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

// docs returns what COMMAND DOCS says, by which redis-cli shows hints.
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
