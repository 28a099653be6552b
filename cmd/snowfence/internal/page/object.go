package page

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Object is a JSON object: names and values in turn, which keep their order. A name that ends in a question
// mark is left out where its value is zero.
type Object []any

// MarshalJSON implements [json.Marshaler].
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	separator := byte('{')
	for i := 0; i+1 < len(o); i += 2 {
		name, optional := strings.CutSuffix(o[i].(string), "?")
		if value := reflect.ValueOf(o[i+1]); optional && (!value.IsValid() || value.IsZero()) {
			continue
		}
		b.WriteByte(separator)
		separator = ','
		if err := encoder.Encode(name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := encoder.Encode(o[i+1]); err != nil {
			return nil, err
		}
	}
	if separator == '{' {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
