package respfront

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// reply is the text of answers that are not written yet.
type reply struct {
	text  []byte
	proto int // 2 or 3
}

func (r *reply) raw(s string) { r.text = append(r.text, s...) }

func (r *reply) end() { r.text = append(r.text, '\r', '\n') }

// head writes the line of a type and a number.
func (r *reply) head(kind byte, n int) {
	r.text = append(r.text, kind)
	r.text = strconv.AppendInt(r.text, int64(n), 10)
	r.end()
}

func (r *reply) ok()                { r.raw("+OK\r\n") }
func (r *reply) simple(text string) { r.raw("+" + text + "\r\n") }
func (r *reply) array(n int)        { r.head('*', n) }
func (r *reply) integer(n int)      { r.head(':', n) }

// number writes an id as an integer.
func (r *reply) number(id uint64) {
	r.text = append(r.text, ':')
	r.text = strconv.AppendUint(r.text, id, 10)
	r.end()
}

// bulkNumber writes an id as a bulk string.
func (r *reply) bulkNumber(id uint64) {
	var digits [20]byte
	r.bulk(strconv.AppendUint(digits[:0], id, 10))
}

func (r *reply) bulk(text []byte) {
	r.head('$', len(text))
	r.text = append(r.text, text...)
	r.end()
}

func (r *reply) bulkString(text string) {
	r.head('$', len(text))
	r.raw(text)
	r.end()
}

// pairs begins a map of n pairs, which RESP2 has as an array.
func (r *reply) pairs(n int) {
	if r.proto == 3 {
		r.head('%', n)
	} else {
		r.array(2 * n)
	}
}

// set begins a set, which RESP2 has as an array.
func (r *reply) set(n int) {
	if r.proto == 3 {
		r.head('~', n)
	} else {
		r.array(n)
	}
}

func (r *reply) null() {
	if r.proto == 3 {
		r.raw("_\r\n")
	} else {
		r.raw("$-1\r\n")
	}
}

// fail writes an error. What a client sent may stand in it, so line ends are taken out.
func (r *reply) fail(text string) {
	r.text = append(r.text, '-')
	r.raw(strings.NewReplacer("\r", " ", "\n", " ").Replace(text))
	r.end()
}

// document writes a value as its JSON has it: objects as maps, numbers as texts.
func (r *reply) document(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return r.nested(d)
}

// nested writes the value that a decoder reads next. How many parts an array or an object has is
// known at its end, so its parts are written first.
func (r *reply) nested(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		parts, n := reply{proto: r.proto}, 0
		for ; d.More(); n++ {
			if err := parts.nested(d); err != nil {
				return err
			}
		}
		if _, err := d.Token(); err != nil { // its end
			return err
		}
		if v == '{' {
			r.pairs(n / 2)
		} else {
			r.array(n)
		}
		r.text = append(r.text, parts.text...)
	case string:
		r.bulkString(v)
	case json.Number:
		r.bulkString(v.String())
	case bool:
		r.bulkString(strconv.FormatBool(v))
	default:
		r.null()
	}
	return nil
}
