package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence/store"
)

// fill pads a key of this rule's to n bytes.
func (p *probe) fill(n int) string {
	return p.key(strings.Repeat("x", max(0, n-len(p.prefix))))
}

// apart writes a value of its own under each key, and then reads them all:
// keys that are mixed up show one another's value.
func (p *probe) apart(keys []string) {
	versions := make(map[string]store.Version)
	value := func(key string) []byte { return []byte(p.prefix + " of " + key) }
	for _, key := range keys {
		versions[key] = p.put(p.a, key, value(key))
	}
	for _, key := range keys {
		p.await(p.b, key, versions[key], value(key))
	}
}

func keyLimits(p *probe) {
	keys := []string{p.fill(store.MaxKey), p.fill(store.MaxKey - 1), p.fill(store.MaxKey)[:store.MaxKey-1] + "y"}
	// Each byte as a whole key (the only keys outside the prefix), and first,
	// last and doubled in a longer one.
	for _, c := range store.KeyAlphabet {
		keys = append(keys, string(c))
	}
	keys = append(keys, p.prefix+store.KeyAlphabet)
	for _, odd := range []string{".", "..", "/", "//", "-", "--", "_", "./.", "../..", "/a/", "a//b", "-rf", "a.", ".a", "new.reg", "0", "00"} {
		keys = append(keys, p.prefix+odd)
	}
	p.apart(keys)
}

func keyBytes(p *probe) {
	var keys []string
	for _, sign := range []string{"", "-", "_", ".", "/", "--", "__", "-_", "_-"} {
		keys = append(keys, p.key("a"+sign+"b"), p.key("a"+sign), p.key(sign+"a"))
	}
	// The three spellings with an empty sign are "ab", "a" and "a".
	keys = append(keys[:2], keys[3:]...)
	keys = append(keys, p.key("a0"), p.key("a00"), p.key("0a"), p.key("00a"), p.key("a/b/c"), p.key("a/b-c"))
	p.apart(keys)
}

func keyRefused(p *probe) {
	long := p.fill(store.MaxKey + 1)
	bad := []string{long, "A", p.key("Key"), p.key("a b"), p.key("a\x00"), "\x00", p.key("é"), p.key("\xff"),
		p.key("%"), p.key("*"), p.key("?"), p.key("\\"), p.key("'"), p.key("a:b"), p.key("a+b"), p.key("~"), p.key("\n")}
	refused := func(err error, call, key string) {
		var k *store.KeyError
		if !errors.As(err, &k) {
			p.failf("%s %q: error %v, want a *KeyError", call, key, err)
		}
		if k.Key != key || k.Reason == "" || k.Field == "" {
			p.failf("%s %q: the error is %+v: it must name the field, the key and the limit", call, key, *k)
		}
	}
	for _, key := range append([]string{""}, bad...) {
		_, err := p.a.Get(p.ctx, key)
		refused(err, "get", key)
		_, err = p.a.Swap(p.ctx, key, "", []byte("value"))
		refused(err, "swap", key)
	}
	for _, prefix := range bad {
		for _, err := range p.a.List(p.ctx, prefix) {
			refused(err, "list", prefix)
		}
	}
	// A refused value must not have been made to fit.
	p.awaitList(p.b, p.prefix, nil)
}

func valueLimits(p *probe) {
	for _, size := range []int{0, 1, 2, 255, 256, 1023, 1024, store.MaxValue - 1, store.MaxValue} {
		key, value := p.key(fmt.Sprint(size)), bytes.Repeat([]byte("v"), size)
		if size > 0 {
			value[size-1] = '!' // the end must come back too
		}
		p.kept(key, value)
	}
	p.kept(p.key("nil"), nil)
	p.conflicts(p.b, p.key("nil"), "", "an empty register exists")
}

func valueBytes(p *probe) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	values := map[string][]byte{
		"every-byte":    all,
		"backwards":     bytes.Repeat([]byte{0xff, 0xfe, 0x80, 0x00}, 64),
		"nul":           {0},
		"nul-inside":    []byte("a\x00b"),
		"nul-at-end":    []byte("a\x00"),
		"invalid-utf8":  []byte("\xc3\x28 \xed\xa0\x80 \xff"),
		"blank":         []byte(" "),
		"blanks-around": []byte("\t a \r\n"),
		"newlines":      []byte("\n\n"),
		"quotes":        []byte(`'"\`),
		"number":        []byte("0012.50"),
		"capitals":      []byte("ABC abc"),
	}
	for name, value := range values {
		p.kept(p.key(name), value)
	}
}

func valueRefused(p *probe) {
	key := p.key("too-long")
	for _, size := range []int{store.MaxValue + 1, 2 * store.MaxValue, 1 << 20} {
		_, err := p.a.Swap(p.ctx, key, "", make([]byte, size))
		var v *store.ValueError
		if !errors.As(err, &v) || v.Size != size {
			p.failf("swap to a value of %d bytes: error %v, want a *ValueError with that size", size, err)
		}
	}
	p.absent(p.a, key)
}

func valueCopied(p *probe) {
	key, want := p.key("copied"), []byte("the value as it was swapped")
	passed := bytes.Clone(want)
	version := p.put(p.a, key, passed)
	if !bytes.Equal(passed, want) {
		p.failf("swap changed the value passed to it")
	}
	clear(passed)
	p.awaitBoth(key, version, want)
	for range 3 { // a cache may only be filled by the first read
		e, err := p.get(p.a, key)
		if !errors.Is(err, store.ErrNotFound) {
			p.must(err, "get "+key)
		}
		clear(e.Value[:cap(e.Value)])
	}
	p.awaitBoth(key, version, want)
	found, err := p.list(p.a, key)
	p.must(err, "read by list")
	clear(found[key].Value)
	p.awaitBoth(key, version, want)
	p.awaitList(p.a, key, map[string]store.Entry{key: {Key: key, Value: want, Version: version}})
}
