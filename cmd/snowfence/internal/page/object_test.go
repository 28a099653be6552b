package page

import (
	"encoding/json"
	"testing"
)

func TestObjectsKeepTheirOrderAndLeaveOutWhatIsOptionalAndZero(t *testing.T) {
	none := (*int64)(nil)
	for _, x := range []struct {
		object Object
		want   string
	}{
		{nil, `{}`},
		{Object{"b", 1, "a", "<&>"}, `{"b":1,"a":"<&>"}`},
		{Object{"a?", "", "b?", none, "c?", nil, "d", none, "e?", Object(nil)}, `{"d":null}`},
		{Object{"a", Object{"b?", 2}, "c", []Object{}}, `{"a":{"b":2},"c":[]}`},
	} {
		got, err := x.object.MarshalJSON()
		var parsed map[string]any
		if err == nil {
			err = json.Unmarshal(got, &parsed)
		}
		var compact json.RawMessage = got
		if err != nil || string(noSpace(compact)) != x.want {
			t.Errorf("%v: %s, %v; want %s", x.object, got, err, x.want)
		}
	}
}

// noSpace drops the line ends of encoders, as the encoder around an object does.
func noSpace(b []byte) (all []byte) {
	for _, c := range b {
		if c != '\n' {
			all = append(all, c)
		}
	}
	return all
}
