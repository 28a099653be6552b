package natsstore

import "testing"

// A reader says the same of bytes that come at once and one by one.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("INFO {}\r\nPING\r\nMSG x 1 2\r\nab\r\n+OK\r\n"))
	f.Add([]byte("HMSG x 1 y 2 3\r\nabc\r\n"))
	f.Add([]byte("MSG x 1 9223372036854775807\r\n"))
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
