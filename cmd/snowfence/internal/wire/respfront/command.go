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
	const ids, link, server = "generic", "connection", "server"
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
	if c.authorized && len(args) == 1 && is(name, "INCR") {
		c.incr(args)
		return
	}
	c.settle() // answers keep the order of their commands
	known := c.find(name)
	switch {
	case !c.authorized && (known == nil || !known.before):
		c.refuse("NOAUTH Authentication required.")
	case known == nil:
		c.refuse(unknownCommand(name, args))
	case len(args) < known.least || known.most >= 0 && len(args) > known.most:
		c.refuse("ERR wrong number of arguments for '" + strings.ToLower(known.name) + "' command")
	default:
		known.answer(c, args)
	}
}

// find returns the command of a name in small or large letters, or nil.
func (s *Server) find(name []byte) *command {
	var capitals [maxName]byte
	if len(name) > len(capitals) {
		return nil
	}
	for i, c := range name {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		capitals[i] = c
	}
	return s.commands[string(capitals[:len(name)])]
}

// maxName is the greatest length of a command's name.
const maxName = 9

// unknownCommand is what Redis says of a command that it does not have.
func unknownCommand(name []byte, args [][]byte) string {
	var text strings.Builder
	text.WriteString("ERR unknown command '" + clip(name) + "', with args beginning with: ")
	for _, a := range args[:min(len(args), 3)] {
		text.WriteString("'" + clip(a) + "' ")
	}
	return text.String()
}

// command answers COMMAND, COMMAND COUNT, COMMAND INFO and COMMAND DOCS.
func (c *conn) command(args [][]byte) {
	switch {
	case len(args) == 0:
		all := commands()
		c.array(len(all))
		for _, known := range all {
			c.describe(&known)
		}
	case is(args[0], "COUNT") && len(args) == 1:
		c.integer(len(c.commands))
	case is(args[0], "INFO"):
		names := args[1:]
		if len(names) == 0 {
			c.command(nil)
			return
		}
		c.array(len(names))
		for _, name := range names {
			if known := c.find(name); known != nil {
				c.describe(known)
			} else {
				c.null()
			}
		}
	case is(args[0], "DOCS"):
		c.docs(args[1:])
	default:
		c.refuse("ERR unknown subcommand '" + clip(args[0]) + "'. Try COUNT, INFO or DOCS.")
	}
}

// describe writes a command in the ten fields of COMMAND.
func (c *conn) describe(known *command) {
	arity := known.least + 1
	if known.least != known.most {
		arity = -arity // at least so many
	}
	flags := []string{"fast"}
	if known.write {
		flags = append(flags, "write")
	}
	if known.before {
		flags = append(flags, "no_auth")
	}
	at := 0
	if known.key {
		at = 1
	}
	c.array(10)
	c.bulkString(strings.ToLower(known.name))
	c.integer(arity)
	c.set(len(flags))
	for _, flag := range flags {
		c.simple(flag)
	}
	c.integer(at) // the first key, the last, and the step between them
	c.integer(at)
	c.integer(at)
	c.set(1)
	c.simple("@" + known.group)
	c.array(0) // tips
	c.array(0) // specifications of keys
	c.array(0) // subcommands
}

// docs answers COMMAND DOCS, by which redis-cli shows hints.
func (c *conn) docs(names [][]byte) {
	all := commands()
	if len(names) > 0 {
		all = slices.DeleteFunc(all, func(k command) bool {
			return !slices.ContainsFunc(names, func(name []byte) bool { return is(name, k.name) })
		})
	}
	c.pairs(len(all))
	for _, known := range all {
		c.bulkString(strings.ToLower(known.name))
		c.pairs(4)
		for _, pair := range [][2]string{{"summary", known.summary}, {"since", "1.0.0"}, {"group", known.group}} {
			c.bulkString(pair[0])
			c.bulkString(pair[1])
		}
		c.bulkString("arguments")
		c.array(len(known.syntax))
		for _, a := range known.syntax {
			c.argument(a)
		}
	}
}

func (c *conn) argument(a argument) {
	pairs := [][2]string{{"name", a.name}, {"type", a.kind}}
	if a.token != "" {
		pairs = append(pairs, [2]string{"token", a.token})
	}
	n := len(pairs)
	if a.optional {
		n++
	}
	c.pairs(n)
	for _, pair := range pairs {
		c.bulkString(pair[0])
		c.bulkString(pair[1])
	}
	if a.optional {
		c.bulkString("flags")
		c.array(1)
		c.simple("optional")
	}
}
