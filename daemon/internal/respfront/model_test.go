package respfront

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Kinds of replies: a letter each. An array of EXEC is its replies in parentheses.
const (
	aStatus  = "+"
	aNumber  = ":"
	aText    = "$"
	aNull    = "n"
	aList    = "*"
	aMap     = "%" // a list in RESP2
	anError  = "-"
	rejected = "!" // an error that spoils a transaction
)

// line is a command, and the kind of its reply. Redis may have another reply, or may not have the command.
type line struct {
	command, reply string
	redis          bool // whether Redis answers with the same kind, when its key "texts" is a text
}

// lines are commands of every kind. The reply is empty where the model finds it by name.
func lines() []line {
	return []line{
		{"INCR numbers", aNumber, true},
		{"INCR", rejected, true},
		{"INCR numbers numbers", rejected, true},
		{"INCR texts", anError, true},
		{"INCR none", anError, false},
		{"INCR late", anError, false},
		{"INCRBY numbers 1", aNumber, true},
		{"INCRBY numbers 5", aNumber, true},
		{"INCRBY numbers x", anError, true},
		{"INCRBY numbers 0", anError, false},
		{"INCRBY numbers", rejected, true},
		{"ID.NEXT numbers", aText, false},
		{"ID.NEXT texts", aText, false},
		{"ID.NEXT numbers COUNT 100", aList, false},
		{"ID.NEXT numbers COUNT 3 RANGES", aList, false},
		{"ID.NEXT numbers COUNT 101", anError, false},
		{"ID.NEXT", rejected, false},
		{"ID.DECODE 1541815603606036480 LAYOUT twitter", aMap, false},
		{"ID.DECODE x", anError, false},
		{"GET numbers", rejected, false},
		{"GET", rejected, true},
		{"NOSUCH numbers", rejected, true},
		{"SUBSCRIBE a b", rejected, false},
		{"MONITOR", rejected, false},
		{"PING", aStatus, true},
		{"PING hello", aText, true},
		{"PING a b", anError, true},
		{"PING \"a b\"", aText, true},
		{"PING \"\" ''", anError, true},
		{"INCR \"\\x6eumber\\s\"", aNumber, true},
		{"ECHO hello", aText, true},
		{"ECHO 'it\\'s \\n'", aText, true},
		{"ECHO", rejected, true},
		{"SELECT 0", aStatus, true},
		{"SELECT 1", anError, false},
		{"SELECT x", anError, true},
		{"AUTH x", anError, true},
		{"AUTH", rejected, true},
		{"AUTH a b", anError, true},
		{"AUTH a b c", anError, true},
		{"CLIENT", rejected, true},
		{"CLIENT ID", aNumber, true},
		{"CLIENT GETNAME", aNull, true},
		{"CLIENT INFO", aText, true},
		{"CLIENT LIST", aText, true},
		{"CLIENT SETINFO LIB-NAME x", aStatus, false},
		{"CLIENT TRACKING ON OPTIN", aStatus, false},
		{"CLIENT NOSUCH", rejected, true},
		{"CLIENT ID x", rejected, true},
		{"CLIENT SETNAME", rejected, true},
		{"CLIENT TRACKING", rejected, true},
		{"CLIENT REPLY", rejected, true},
		{"CLIENT SETNAME \"a b\"", anError, true},
		{"CLIENT KILL 127.0.0.1:1", rejected, false},
		{"CLIENT LIST TYPE normal", rejected, false},
		{"INFO server", aText, true},
		{"COMMAND COUNT", aNumber, true},
		{"COMMAND INFO incr none", aList, true},
		{"COMMAND DOCS incr", aMap, true},
		{"COMMAND NOSUCH", rejected, true},
		{"COMMAND COUNT x", rejected, true},
		{"COMMAND LIST", rejected, false},
		{"CONFIG", rejected, true},
		{"CONFIG GET save", aMap, true},
		{"CONFIG GET", rejected, true},
		{"CONFIG NOSUCH", rejected, true},
		{"CONFIG SET save", rejected, true},
		{"CONFIG SET maxclients 100", rejected, false},
		{"CLUSTER", rejected, true},
		{"CLUSTER NOSUCH", rejected, true},
		{"CLUSTER SLOTS x", rejected, true},
		{"CLUSTER SLOTS", rejected, false},
		{"REPLCONF ACK 1", "", true},
		{"replconf getack *", "", true},
		{"MULTI x", rejected, true},
		{"DISCARD x", rejected, true},
		{"WATCH", rejected, true},
		{"UNWATCH", aStatus, true},
		{"UNWATCH x", rejected, true},
		{"RESET x", rejected, true},
		{"HELLO 4", anError, true},
		{"HELLO 2 x", anError, true},
		{"HELLO", "", true},
		{"HELLO 2", "", true},
		{"HELLO 3", "", true},
		{"MULTI", "", true},
		{"EXEC", "", true},
		{"EXEC x", "", true},
		{"DISCARD", "", true},
		{"WATCH numbers texts", "", true},
		{"RESET", "", true},
		{"CLIENT REPLY ON", "", true},
		{"CLIENT REPLY OFF", "", true},
		{"CLIENT REPLY SKIP", "", true},
		{"CLIENT REPLY x", anError, false},
		{"", "", true},
	}
}

// model predicts the replies that a connection gets, as Redis 7.0 has them.
type model struct {
	proto       string
	open        bool
	spoiled     bool
	kept        []line // of the transaction
	watches     bool   // since WATCH
	touched     bool   // the client itself changed what it watches
	off         bool
	skip, skip1 bool // the reply of the next command, of this one
	replies     []string
}

// take adds the reply to a command.
func (m *model) take(l line) {
	m.skip1, m.skip = m.skip, false
	m.say(m.reply(l))
}

func (m *model) say(kind string) {
	if kind != "" && !m.off && !m.skip1 {
		m.replies = append(m.replies, kind)
	}
}

// reply is the reply of a command that comes now.
func (m *model) reply(l line) string {
	switch {
	case l.command == "":
		return ""
	case l.reply == rejected:
		m.spoiled, m.kept = m.spoiled || m.open, nil
		return anError
	case strings.HasPrefix(l.command, "CLIENT REPLY ") && m.open:
		m.spoiled = true
		return anError
	case isAck(l):
		if m.open {
			m.spoiled = true
			return anError
		}
		return ""
	}
	switch l.command {
	case "MULTI":
		if m.open {
			return anError
		}
		m.open = true
		return aStatus
	case "EXEC", "EXEC x":
		kept, fails := m.kept, !m.open || m.spoiled || l.command == "EXEC x"
		m.end()
		if fails {
			return anError
		}
		all := ""
		for _, k := range kept {
			all += m.own(k)
		}
		return "(" + all + ")"
	case "DISCARD":
		if !m.open {
			return anError
		}
		m.end()
		return aStatus
	case "WATCH numbers texts":
		if m.open {
			return anError
		}
		m.watches = true
		return aStatus
	case "RESET":
		m.end()
		m.proto, m.off = "2", false
		return aStatus
	}
	if m.open {
		m.kept = append(m.kept, l)
		return aStatus
	}
	return m.own(l)
}

// isAck reports whether a command gets no reply. Redis sends fewer replies than EXEC has announced if a
// transaction has it.
func isAck(l line) bool { return strings.HasPrefix(strings.ToUpper(l.command), "REPLCONF") }

func (m *model) end() {
	m.open, m.spoiled, m.kept, m.watches, m.touched = false, false, nil, false, false
}

// own is the reply of a command that is carried out.
func (m *model) own(l line) string {
	switch l.command {
	case "CLIENT REPLY ON":
		m.off, m.skip1 = false, false
		return aStatus
	case "CLIENT REPLY OFF":
		m.off = true
		return ""
	case "CLIENT REPLY SKIP":
		m.skip = !m.off
		return ""
	case "HELLO 2", "HELLO 3":
		m.proto = l.command[len("HELLO "):]
		return m.mapping()
	case "HELLO":
		return m.mapping()
	}
	m.touched = m.touched || m.watches && strings.HasPrefix(l.command, "INCR")
	if l.reply == aMap {
		return m.mapping()
	}
	return l.reply
}

func (m *model) mapping() string {
	if m.proto == "3" {
		return aMap
	}
	return aList
}

// kindOf reads a reply and returns its kind. An array has the kinds of its parts if inside is set.
func kindOf(r *bufio.Reader, inside bool) (string, error) {
	text, err := r.ReadString('\n')
	if err != nil || len(text) < 3 {
		return "", fmt.Errorf("%q: %w", text, err)
	}
	n, _ := strconv.ParseInt(text[1:len(text)-2], 10, 64)
	kind := text[:1]
	switch kind {
	case "_":
		return aNull, nil
	case "$", "=":
		if n < 0 {
			return aNull, nil
		}
		_, err := io.CopyN(io.Discard, r, n+2)
		return aText, err
	case "*", "~", "%":
		parts := n
		if kind == "%" {
			parts *= 2
		}
		all := ""
		for range parts {
			part, err := kindOf(r, false)
			if err != nil {
				return "", err
			}
			all += part
		}
		if inside {
			return "(" + all + ")", nil
		}
		if kind == "~" {
			kind = aList
		}
	}
	return kind, nil
}

// pipeline writes commands in a row: each as a line or as an array, in large or small letters. It ends any
// transaction and silence, and then asks for "end". It returns the replies that the model foresees.
func pipeline(chosen []line, style func() int) (text []byte, want []string) {
	m := model{proto: "2"}
	for _, l := range append(chosen, line{"", "", true}, line{"RESET", "", true}, line{"ECHO hello", aText, true}) {
		m.take(l)
		words := strings.Fields(l.command)
		s := style()
		if s&1 == 0 && len(words) > 0 {
			words[0] = strings.ToLower(words[0])
		}
		switch {
		case strings.ContainsAny(l.command, "'\""):
			text = append(text, l.command+"\r\n"...)
		case s&2 == 0:
			text = append(text, strings.Join(words, " ")+"\r\n"...)
		default:
			text = append(text, encode(words...)...)
		}
	}
	return text, m.replies
}

// compare reads the replies that a pipeline has, and checks that nothing follows.
func compare(r *bufio.Reader, want []string) error {
	for i, w := range want {
		got, err := kindOf(r, strings.HasPrefix(w, "("))
		if err != nil {
			return fmt.Errorf("reply %d of %d, want %q: %w", i, len(want), w, err)
		}
		if got != w {
			return fmt.Errorf("reply %d of %d is %q, want %q", i, len(want), got, w)
		}
	}
	if n := r.Buffered(); n > 0 {
		return fmt.Errorf("%d bytes follow the last reply", n)
	}
	return nil
}

// FuzzRepliesMatchTheModel holds pipelines to one rule: the number of replies, their order and their
// kinds are the same as Redis'. Each two bytes are a command and its style.
func FuzzRepliesMatchTheModel(f *testing.F) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 2*random.IntN(60))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data, uint16(random.Uint32()))
	}
	all := lines()
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		var chosen []line
		for i := 0; i+1 < len(data) && len(chosen) < 100; i += 2 {
			chosen = append(chosen, all[int(data[i])%len(all)])
		}
		n := -1
		text, want := pipeline(chosen, func() int {
			if n += 2; n < len(data) {
				return int(data[n])
			}
			return 0
		})
		at := int(cut) % len(text)
		got := replies(t, text[:at], text[at:])
		if err := compare(bufio.NewReader(strings.NewReader(got)), want); err != nil {
			t.Fatalf("%v\n%q\n%q", err, text, got)
		}
	})
}
