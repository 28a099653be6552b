package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"snowfence.example/snowfence"
)

// readAll reads the content of standard input, with buffers of a size.
func readAll(t testing.TB, content io.Reader, o Options, size int) (items []Item, err error) {
	t.Helper()
	o.Stdin = content
	s, err := Open(t.Context(), "-", o)
	if err != nil {
		return nil, err
	}
	return drain(t, s, size)
}

// drain reads a source to its end, and closes it.
func drain(t testing.TB, s Source, size int) (items []Item, err error) {
	t.Helper()
	buffer := make([]Item, size)
	for err == nil {
		var n int
		n, err = s.Read(t.Context(), buffer)
		if items = append(items, buffer[:n]...); n == 0 && err == nil {
			t.Fatal("nothing was read, without an error")
		}
	}
	if closed := s.Close(); closed != nil {
		t.Errorf("close: %v", closed)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return items, err
}

// shown writes items as "id@place".
func shown(items []Item) string {
	var texts []string
	for _, i := range items {
		texts = append(texts, fmt.Sprintf("%s@%d", i.ID, i.At))
	}
	return strings.Join(texts, " ")
}

func TestFormatsAreRead(t *testing.T) {
	for _, x := range []struct {
		name, content string
		options       Options
		want          string
	}{
		{"text", "1\n22\n1541815603606036480\n18446744073709551615\n", Options{}, "1@1 22@2 1541815603606036480@3 18446744073709551615@4"},
		{"text without an end", "1\n2", Options{}, "1@1 2@2"},
		{"text of DOS", "\xef\xbb\xbf12345678901234567\r\n12345678901234568\r\n\r\n12345678901234569", Options{}, "12345678901234567@1 12345678901234568@2 12345678901234569@4"},
		{"comments and blanks", "# ids\n\n  7 \n\t8\n#9\n0\n", Options{}, "7@3 8@4 0@6"},
		{"decimal and marked hex", "1541815603606036480\n0x1565a11f6217a000\n1541815603606036480\n", Options{}, "1541815603606036480@1 1541815603606036480@2 1541815603606036480@3"},
		{"base62", "1ptWyK4WgZU\n", Options{Encoding: "base62"}, "1541815603606036480@1"},
		{"base32", "1ASD13XH1F800\n", Options{Encoding: "base32"}, "1541815603606036480@1"},
		{"fixed width", "0000000000000000007\n0000000000000000008\n", Options{}, "7@1 8@2"},
		{"an encoding", "10\nff\n0010000000000000\nf\n", Options{Encoding: "hex"}, "16@1 255@2 4503599627370496@3 15@4"},
		{"a decimal of 16 digits", "1234567890123456\n", Options{}, "1234567890123456@1"},
		{"CSV by name", "name,id\nx,5\n\"a,\"\"b\"\"\n\",6\n\ny,\"7\"\n", Options{Column: "id"}, "5@2 6@3 7@6"},
		{"CSV by number", "x,5\ny,6\n", Options{Column: "2"}, "5@1 6@2"},
		{"CSV of DOS with semicolons", "id;name\r\n5;a\r\n\"6\";b\r\n", Options{Column: "id"}, "5@2 6@3"},
		{"CSV with tabs", "\n\"a,b;c\"\tid\n;\t5\n", Options{Column: "id"}, "5@3"},
		{"CSV with a semicolon in a name", "a;b,id\nx,5\n", Options{Column: "id"}, "5@2"},
		{"CSV with a quoted header", "\xef\xbb\xbf\" order id \",x\n5,\n", Options{Column: "order id"}, "5@2"},
		{"nothing", "", Options{}, ""},
	} {
		for how, content := range map[string]io.Reader{
			"1":    strings.NewReader(x.content),
			"3":    iotest.OneByteReader(strings.NewReader(x.content)),
			"1000": bytes.NewReader(compressed(t, x.content)),
		} {
			size, _ := strconv.Atoi(how)
			if items, err := readAll(t, content, x.options, size); shown(items) != x.want || err != nil {
				t.Errorf("%s, %s at a time: %s, %v, want %s", x.name, how, shown(items), err, x.want)
			}
		}
	}
}

func TestWhatIsNoIDIsNamedWithItsPlace(t *testing.T) {
	for _, x := range []struct {
		content string
		options Options
		place   string
		message string // part of it
	}{
		{"1\n2\nx y\n", Options{}, "line 3", "decimal"},
		{"order_id\n1\n", Options{}, "line 1", "if it is a header, --column NAME"},
		{"01912d68-783e-7a83-9a33-3c9b0e9a1f0b\n", Options{}, "line 1", "a UUID for one: those are texts, and 'sort FILE | uniq -d'"},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV\n", Options{}, "line 1", "of more than 64 bits"},
		{"id,name\n1,x\n", Options{}, "line 1", "it looks like CSV: --column"},
		{"1\n-5\n", Options{}, "line 2", `"-5"`},
		{"1\n18446744073709551616\n", Options{}, "line 2", "is above 18446744073709551615"},
		{"\x00\x01\x02\n", Options{}, "line 1", "it looks like no text"},
		{"\x00,;\x02\n", Options{}, "line 1", "it looks like no text"},
		{"1\n" + strings.Repeat("1", maxLine+2) + "\n2\n", Options{}, "line 2", "longer than 1048576 bytes"},
		{"id,x\n5,\nsix,\n", Options{Column: "id"}, "line 3", `"six"`},
		{"x,id\n5\n", Options{Column: "id"}, "line 2", "has 1 field, and line 1 has 2"},
		{"id\n5\n\"6\n7\n", Options{Column: "id"}, "line 3", "a quote that is never closed"},
		{"order,5\n", Options{Column: "1"}, "line 1", "if it is a header, --column NAME"},
		{"007\n", Options{}, "line 1", "has a leading zero"},
		{"1234567890123456\n1565a11f6217a000\n", Options{}, "line 2", "may be hex: name it by --encoding hex"},
		{"1xtWyK4WgZU\n", Options{}, "line 1", "--encoding base62"},
		{"0x17\n1ASD13XH1F800\n", Options{}, "line 2", "--encoding base32"},
	} {
		_, err := readAll(t, strings.NewReader(x.content), x.options, 100)
		var bad *InvalidError
		if !errors.As(err, &bad) || !errors.Is(err, snowfence.ErrInvalidID) || bad.Place != x.place || !strings.Contains(err.Error(), x.message) {
			t.Errorf("%.40q: %v, want %s: %s", x.content, err, x.place, x.message)
		}
	}
}

func TestOptionsThatDoNotFitAreRefused(t *testing.T) {
	for _, x := range []struct {
		content string
		options Options
		message string
	}{
		{"a,b\n1,2\n", Options{Column: "id"}, `has no column "id"; line 1 has a, b`},
		{"id,id\n1,2\n", Options{Column: "id"}, `has two columns "id"`},
		{"", Options{Column: "id"}, "is empty"},
		{"1\n", Options{Column: "0"}, "from 1 to"},
	} {
		_, err := readAll(t, strings.NewReader(x.content), x.options, 10)
		if !errors.As(err, new(UsageError)) || !strings.Contains(err.Error(), x.message) {
			t.Errorf("%+v: %v, want %s", x.options, err, x.message)
		}
	}
	if _, err := Open(t.Context(), "-", Options{}); err == nil {
		t.Error("no standard input is no error")
	}
}

func TestSilentStreamEndsWithItsContext(t *testing.T) {
	silent, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	for _, o := range []Options{{}, {Column: "id"}} {
		o.Stdin = silent
		s, err := Open(t.Context(), "-", o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := s.Read(ctx, make([]Item, 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: %v", o, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"1\n2\n", "1541815603606036480\r\n# x\n\n7", "1565a11f6217a000\n1ptWyK4WgZU\n", "99999999999999999999999\n", "00000000000000000007\n12345678\n123456781234567\n"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, content string, size int) {
		size = min(max(size, 1), 100)
		fast, err := readAll(t, strings.NewReader(content), Options{Encoding: "decimal"}, size)
		var refused *InvalidError
		if err != nil && !errors.As(err, &refused) {
			return // it begins as a packed stream
		}
		// The same, line by line up to the refused line, without any haste.
		var slow []Item
		for i, line := range strings.Split(strings.TrimPrefix(content, "\xef\xbb\xbf"), "\n") {
			text := string(bytes.TrimSpace([]byte(line)))
			if n, err := strconv.ParseUint(text, 10, 64); err == nil && (text == "0" || text[0] != '0' || len(text) == 19 && n < 1<<63) && text[0] != '+' {
				slow = append(slow, Item{snowfence.ID(n), uint64(i) + 1})
			}
			if refused != nil && refused.Place == fmt.Sprint("line ", i+1) {
				break
			}
		}
		if shown(fast) != shown(slow) {
			t.Errorf("%q: %s, want %s", content, shown(fast), shown(slow))
		}
		_, _ = readAll(t, strings.NewReader(content), Options{}, size)
	})
}
