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
func (r *reply) head(kind byte, n int64) {
	r.text = strconv.AppendInt(append(r.text, kind), n, 10)
	r.end()
}

func (r *reply) ok()                { r.raw("+OK\r\n") }
func (r *reply) simple(text string) { r.raw("+" + text + "\r\n") }
func (r *reply) array(n int)        { r.head('*', int64(n)) }
func (r *reply) integer(n int64)    { r.head(':', n) }

// bulkNumber writes a number as a bulk string.
func (r *reply) bulkNumber(n int64) {
	var digits [20]byte
	r.bulk(strconv.AppendInt(digits[:0], n, 10))
}

func (r *reply) bulk(text []byte) {
	r.head('$', int64(len(text)))
	r.text = append(r.text, text...)
	r.end()
}

func (r *reply) bulkString(text string) { r.bulk([]byte(text)) }

func (r *reply) null() {
	if r.proto == 3 {
		r.raw("_\r\n")
	} else {
		r.raw("$-1\r\n")
	}
}

// fail writes an error. It may contain a client's text, so line ends are taken out.
func (r *reply) fail(text string) {
	r.text = append(r.text, '-')
	r.raw(strings.NewReplacer("\r", " ", "\n", " ").Replace(text))
	r.end()
}

// Values of answers that are not only a text or a number: an object is a map, of a key and a value in
// turn, and a status is a text in a line of its own. Nil is a value, too.
type (
	list   []any
	object []any
	status string
)

// value writes a value. RESP2 has maps as arrays.
func (r *reply) value(v any) {
	switch v := v.(type) {
	case list:
		r.array(len(v))
		for _, part := range v {
			r.value(part)
		}
	case object:
		if r.proto == 3 {
			r.head('%', int64(len(v)/2))
		} else {
			r.array(len(v))
		}
		for _, part := range v {
			r.value(part)
		}
	case string:
		r.bulkString(v)
	case status:
		r.simple(string(v))
	case int:
		r.integer(int64(v))
	default:
		r.null()
	}
}

// document writes a value as its JSON has it: objects as maps, numbers as texts.
func (r *reply) document(from any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := nested(d)
	if err == nil {
		r.value(v)
	}
	return err
}

// nested reads the next value of a decoder.
func nested(d *json.Decoder) (any, error) {
	token, err := d.Token()
	switch v := token.(type) {
	case json.Delim:
		var parts []any
		for d.More() {
			part, err := nested(d)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
		if _, err := d.Token(); err != nil { // its end
			return nil, err
		}
		if v == '{' {
			return object(parts), nil
		}
		return list(parts), nil
	case json.Number:
		return v.String(), err
	case bool:
		return strconv.FormatBool(v), err
	}
	return token, err
}
