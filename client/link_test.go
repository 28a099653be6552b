package client

import (
	"bufio"
	"strings"
	"testing"
)

func TestAnswerIsNotBelievedBeforeItHasCome(t *testing.T) {
	head := "*2000000\r\n" + strings.Repeat("$1\r\n1\r\n", 1)
	allocated := testing.AllocsPerRun(10, func() {
		l := &link{reader: bufio.NewReaderSize(strings.NewReader(head), maxLine)}
		if _, err := l.runs(maxBatch); err == nil {
			t.Error("an answer that ends early was read")
		}
	})
	if allocated > 10 {
		t.Errorf("%v allocations for an answer of two lines", allocated)
	}
}

func TestAnswerOfFewerOrMoreIDsThanWereAskedForIsRefused(t *testing.T) {
	for answer, ok := range map[string]bool{
		ranges(1, 5): true, ranges(1, 2, 7, 3): true,
		ranges(): false, ranges(1, 4): false, ranges(1, 2, 7, 2): false, ranges(1, 6): false, ranges(1, 2, 7, 4): false,
	} {
		l := &link{reader: bufio.NewReaderSize(strings.NewReader(answer), maxLine)}
		if runs, err := l.runs(5); (err == nil) != ok {
			t.Errorf("%q for 5 ids: %v, %v", answer, runs, err)
		}
	}
}

// FuzzAnswer holds the reader of answers to its promises: as many ids as were asked for, in
// increasing order, whatever a server sends.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		ranges(1, 5), ranges(1, 2, 7, 3), ranges(7, 3, 1, 2), ranges(1, 3, 3, 2), ranges(9223372036854775807, 5),
		ranges(1), ranges(), ranges(-1, 5), ranges(1, -5, 1, 10), ranges(1, 0, 7, 5), "-ERR x\r\n", "-\r\n", "*2\r\n$1\r\n1\r\n$1\r\n9\r\n",
		"*4000000000\r\n", "*-1\r\n", "$-1\r\n", "*2\r\n$2\r\n1\r\n$1\r\n5\r\n", "*2\r\n:1\r\n:5\r\n", "*2\n$1\n1\n$1\n5\n",
		"*2\r\n$1\r\n1\r\n", "\r\n", strings.Repeat("*", 5000),
	} {
		f.Add([]byte(seed), 5)
	}
	f.Fuzz(func(t *testing.T, answer []byte, n int) {
		if n < 1 || n > maxBatch {
			return
		}
		l := &link{reader: bufio.NewReaderSize(strings.NewReader(string(answer)), maxLine)}
		runs, err := l.runs(n)
		if err != nil {
			return
		}
		ids := 0
		for i, r := range runs {
			if r.count < 1 || r.first < 0 || r.last() < r.first || i > 0 && r.first <= runs[i-1].last() {
				t.Fatalf("run %d of %v", i, runs)
			}
			ids += r.count
		}
		if ids != n {
			t.Fatalf("%d ids for %d", ids, n)
		}
	})
}
