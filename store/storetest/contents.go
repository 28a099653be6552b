package storetest

import (
	"bytes"
	"context"
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
func (p *probe) apart(ctx context.Context, keys []string) error {
	versions := make(map[string]store.Version)
	value := func(key string) []byte { return []byte(p.prefix + " of " + key) }
	for _, key := range keys {
		version, err := p.put(ctx, p.a, key, value(key))
		if err != nil {
			return err
		}
		versions[key] = version
	}
	for _, key := range keys {
		if err := p.await(ctx, p.b, key, versions[key], value(key)); err != nil {
			return err
		}
	}
	return nil
}

func keyLimits(ctx context.Context, p *probe) error {
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
	return p.apart(ctx, keys)
}

func keyBytes(ctx context.Context, p *probe) error {
	var keys []string
	for _, sign := range []string{"", "-", "_", ".", "/", "--", "__", "-_", "_-"} {
		keys = append(keys, p.key("a"+sign+"b"), p.key("a"+sign), p.key(sign+"a"))
	}
	// The three spellings with an empty sign are "ab", "a" and "a".
	keys = append(keys[:2], keys[3:]...)
	keys = append(keys, p.key("a0"), p.key("a00"), p.key("0a"), p.key("00a"), p.key("a/b/c"), p.key("a/b-c"))
	return p.apart(ctx, keys)
}

func keyRefused(ctx context.Context, p *probe) error {
	long := p.fill(store.MaxKey + 1)
	bad := []string{long, "A", p.key("Key"), p.key("a b"), p.key("a\x00"), "\x00", p.key("é"), p.key("\xff"),
		p.key("%"), p.key("*"), p.key("?"), p.key("\\"), p.key("'"), p.key("a:b"), p.key("a+b"), p.key("~"), p.key("\n")}
	refused := func(err error, call, key string) error {
		var k *store.KeyError
		if !errors.As(err, &k) {
			return fmt.Errorf("%s %q: error %v, want a *KeyError", call, key, err)
		}
		if k.Key != key || k.Reason == "" || k.Field == "" {
			return fmt.Errorf("%s %q: the error says %+v: it must name the field, the key and the limit", call, key, *k)
		}
		return nil
	}
	for _, key := range append([]string{""}, bad...) {
		if _, err := p.a.Get(ctx, key); refused(err, "get", key) != nil {
			return refused(err, "get", key)
		}
		if _, err := p.a.Swap(ctx, key, "", []byte("value")); refused(err, "swap", key) != nil {
			return refused(err, "swap", key)
		}
	}
	for _, prefix := range bad {
		for e, err := range p.a.List(ctx, prefix) {
			if err == nil {
				return fmt.Errorf("list %q yields %q, want a *KeyError", prefix, e.Key)
			}
			if err := refused(err, "list", prefix); err != nil {
				return err
			}
		}
	}
	// What was refused must not have been made to fit.
	return p.awaitList(ctx, p.b, p.prefix, nil)
}

func valueLimits(ctx context.Context, p *probe) error {
	for _, size := range []int{0, 1, 2, 255, 256, 1023, 1024, store.MaxValue - 1, store.MaxValue} {
		key, value := p.key(fmt.Sprint(size)), bytes.Repeat([]byte("v"), size)
		if size > 0 {
			value[size-1] = '!' // the end must come back too
		}
		version, err := p.put(ctx, p.a, key, value)
		if err != nil {
			return fmt.Errorf("value of %d bytes: %w", size, err)
		}
		if err := p.awaitBoth(ctx, key, version, value); err != nil {
			return fmt.Errorf("value of %d bytes: %w", size, err)
		}
	}
	version, err := p.put(ctx, p.a, p.key("nil"), nil)
	if err != nil {
		return fmt.Errorf("nil value: %w", err)
	}
	if err := p.awaitBoth(ctx, p.key("nil"), version, nil); err != nil {
		return err
	}
	return p.conflicts(ctx, p.b, p.key("nil"), "", []byte("an empty register exists"))
}

func valueBytes(ctx context.Context, p *probe) error {
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
		version, err := p.put(ctx, p.a, p.key(name), value)
		if err != nil {
			return err
		}
		if err := p.awaitBoth(ctx, p.key(name), version, value); err != nil {
			return err
		}
	}
	return nil
}

func valueRefused(ctx context.Context, p *probe) error {
	key := p.key("too-long")
	for _, size := range []int{store.MaxValue + 1, 2 * store.MaxValue, 1 << 20} {
		_, err := p.a.Swap(ctx, key, "", make([]byte, size))
		var v *store.ValueError
		if !errors.As(err, &v) {
			return fmt.Errorf("swap to a value of %d bytes: error %v, want a *ValueError", size, err)
		}
		if v.Size != size {
			return fmt.Errorf("swap to a value of %d bytes: the error says %d", size, v.Size)
		}
	}
	return p.absent(ctx, p.a, key)
}

func valueCopied(ctx context.Context, p *probe) error {
	key, want := p.key("copied"), []byte("the value as it was swapped")
	passed := bytes.Clone(want)
	version, err := p.put(ctx, p.a, key, passed)
	if err != nil {
		return err
	}
	if !bytes.Equal(passed, want) {
		return errors.New("swap changed the value passed to it")
	}
	clear(passed)
	if err := p.awaitBoth(ctx, key, version, want); err != nil {
		return fmt.Errorf("after the slice passed to swap was changed: %w", err)
	}
	for range 3 { // a cache may only be filled by the first read
		e, err := p.get(ctx, p.a, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("get %q: %w", key, err)
		}
		clear(e.Value[:cap(e.Value)])
	}
	if err := p.awaitBoth(ctx, key, version, want); err != nil {
		return fmt.Errorf("after a slice returned by get was changed: %w", err)
	}
	found, err := p.list(ctx, p.a, key)
	if err != nil {
		return err
	}
	clear(found[key].Value)
	if err := p.awaitBoth(ctx, key, version, want); err != nil {
		return fmt.Errorf("after a slice yielded by list was changed: %w", err)
	}
	return p.awaitList(ctx, p.a, key, map[string]store.Entry{key: {Key: key, Value: want, Version: version}})
}
