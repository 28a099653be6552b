package countertest

import (
	"testing"
	"time"
)

func TestDisorderOfCallsIsFound(t *testing.T) {
	at := func(begun, end time.Duration, number int64) Drawn { return Drawn{number, begun, end} }
	for name, test := range map[string]struct {
		drawn []Drawn
		wrong bool
	}{
		"one after the other":   {[]Drawn{at(0, 1, 6), at(2, 3, 7)}, false},
		"at a time":             {[]Drawn{at(0, 2, 8), at(1, 3, 6)}, false},
		"later and lower":       {[]Drawn{at(0, 1, 8), at(2, 3, 6)}, true},
		"later and the same":    {[]Drawn{at(0, 1, 6), at(2, 3, 6)}, true},
		"lower than long ago":   {[]Drawn{at(0, 1, 9), at(2, 3, 10), at(0, 4, 1), at(5, 6, 8)}, true},
		"at a time, the same":   {[]Drawn{at(0, 2, 8), at(1, 3, 8)}, true},
		"listed in another way": {[]Drawn{at(2, 3, 7), at(0, 1, 6)}, false},
	} {
		if err := Order(test.drawn); (err != nil) != test.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}
