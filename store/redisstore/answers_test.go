package redisstore

import "testing"

// A reader says the same of bytes that come at once and one by one.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("$5\r\nhello\r\n*2\r\n:1\r\n%1\r\n+a\r\n$-1\r\n"))
	f.Add([]byte("*4001\r\n"))
	f.Add([]byte("$9223372036854775807\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, parts := &answers{}, &answers{}
		wrong := whole.Take(b)
		for i := range b {
			if err := parts.Take(b[i : i+1]); err != nil {
				if wrong == nil {
					t.Errorf("byte by byte: %v; whole: nothing", err)
				}
				return
			}
		}
		if wrong != nil {
			t.Errorf("whole: %v; byte by byte: nothing", wrong)
		}
	})
}
