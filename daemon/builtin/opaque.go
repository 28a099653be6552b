package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/speps/go-hashids/v2"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/opaque"
)

// KindOpaque is the kind of an [Opaque] generator.
const KindOpaque = "opaque"

// Opaque is a generator of kind opaque: it shows the ids of another generator as texts, and reads
// them back. It is safe for concurrent use.
type Opaque struct {
	of    string
	codec opaque.Codec
}

// Of returns the name of the generator whose ids are shown.
func (o *Opaque) Of() string { return o.of }

// Form is [kind.Text].
func (*Opaque) Form() kind.Form { return kind.Text }

// Caps implements [kind.Capable].
func (o *Opaque) Caps() kind.Caps { return kind.Caps{Shows: o} }

// Show writes the text of an id in decimal. It returns a *[snowfence.IDError] for an id that it can't show.
func (o *Opaque) Show(id string) (string, error) {
	number, err := snowfence.Parse(id)
	if err != nil {
		return "", err
	}
	return o.codec.Encode(number)
}

// Read returns the id of a text. It returns a *[snowfence.IDError] for a text that it can't read.
func (o *Opaque) Read(text string) (string, error) {
	number, err := o.codec.Decode(text)
	return number.String(), err
}

// Mint fails: the other generator mints.
func (*Opaque) Mint(context.Context, int, *kind.Batch) error {
	return errors.New("an opaque generator mints no ids of its own")
}

// OpenOpaque opens a generator of kind opaque, without a daemon.
func (c Config) OpenOpaque(ctx context.Context, generator string) (*Opaque, error) {
	return openAs[*Opaque](ctx, c, generator)
}

// opaqueSettings are the settings of kind opaque, but for its key.
type opaqueSettings struct {
	of, form, prefix, keyFile, keyVariable, purpose, salt, alphabet string

	minLength int
}

// mostLength is the greatest min-length. With a prefix a text is at most [kind.MaxText] long.
const mostLength = 128

// opaques is [Opaque].
func opaques(p *place) (settings, check, open) {
	s := opaqueSettings{form: "sealed"}
	var codec opaque.Codec
	return settings{
		"of": text(&s.of), "form": text(&s.form), "prefix": text(&s.prefix), "purpose": text(&s.purpose),
		"key-file": text(&s.keyFile), "key-variable": text(&s.keyVariable),
		"salt": text(&s.salt), "alphabet": text(&s.alphabet), "min-length": number(&s.minLength, 0),
		"key": func(string) error {
			return errors.New("must not stand here, where many can read it: key-file names a file for it, key-variable a variable")
		},
	}, func() (err error) { codec, err = s.judge(p); return err }, func(context.Context) (kind.Minter, error) { return &Opaque{s.of, codec}, nil }
}

// judge makes the form, once the settings fit together. A key is read here, so the daemon reads it at its start.
func (s *opaqueSettings) judge(p *place) (opaque.Codec, error) {
	keyed, spelt := []string{"key-file", "key-variable", "purpose"}, []string{"alphabet", "min-length", "salt"}
	own, known := map[string][]string{
		"sealed": keyed, "permuted": keyed, "hashids": spelt, "sqids": spelt[:2], "crockford": {},
	}[s.form]
	own = append([]string{"of", "form", "prefix"}, own...)
	generators := p.config.Settings.Generators
	for _, key := range slices.Sorted(maps.Keys(generators[p.generator].Settings)) {
		if known && !slices.Contains(own, key) {
			return nil, refused(key, "is no setting of form "+s.form)
		}
	}
	of, there := generators[s.of]
	has := find(of.Kind).form // zero if the kind is a program's own
	_, err := opaque.NewPrefixed(s.prefix, opaque.Checked{})
	strange := func(r rune) bool { return !strings.ContainsRune(hashids.DefaultAlphabet, r) }
	switch {
	case !known:
		return nil, refused("form", "must be sealed, permuted, crockford, hashids or sqids")
	case !there:
		return nil, refused("of", "must be the name of another generator")
	case has != kind.Number && has != 0:
		return nil, refused("of", fmt.Sprintf("form %s shows ids of the form %s, and those of kind %s have the form %s", s.form, kind.Number, of.Kind, has))
	case err != nil:
		return nil, refused("prefix", err.Error())
	case s.minLength > mostLength:
		return nil, refused("min-length", fmt.Sprint("must be from 0 to ", mostLength))
	case strings.ContainsFunc(s.alphabet, strange):
		return nil, refused("alphabet", "must be characters of a-z, A-Z and 0-9")
	}
	codec, at, err := s.codec(p)
	if err == nil {
		codec, err = opaque.NewPrefixed(s.prefix, codec)
	}
	if err != nil {
		return nil, refused(at, err.Error())
	}
	return codec, nil
}

// codec makes the form without a prefix. An error is about the setting at.
func (s *opaqueSettings) codec(p *place) (c opaque.Codec, at string, err error) {
	switch s.form {
	case "crockford":
		return opaque.Checked{}, "form", nil
	case "hashids":
		c, err = newHashids(s.salt, s.alphabet, s.minLength)
		return c, "alphabet", err
	case "sqids":
		c, err = newSqids(s.alphabet, s.minLength)
		return c, "alphabet", err
	}
	keys, at, err := keysAt(p, s.keyFile, s.keyVariable)
	switch purpose := cmp.Or(s.purpose, s.of); {
	case err != nil:
	case s.form == "permuted" && len(keys) > 1:
		err = fmt.Errorf("has %d keys, and form permuted can have 1: its texts do not name theirs", len(keys))
	case s.sharer(p, keys) != "":
		err = fmt.Errorf("generator %s has the same keys in another form: a key is for one form only", s.sharer(p, keys))
	case s.form == "sealed":
		c, err = opaque.NewSealed(purpose, keys...)
	default:
		c, err = opaque.NewPermuted(purpose, keys[0])
	}
	return c, at, err
}

// keysAt reads the keys of a file, or else of a variable. An error is about the setting at.
func keysAt(p *place, file, variable string) (keys []opaque.Key, at string, err error) {
	at = "key-file"
	content, set := p.config.Settings.Variable(variable)
	switch {
	case (file == "") == (variable == ""):
		return nil, at, errors.New("must be set, or key-variable in its place")
	case file != "":
		read, err := os.ReadFile(file)
		if err != nil {
			return nil, at, errors.Unwrap(err) // without the path, which is shown already
		}
		content = string(read)
	case set:
		at = "key-variable"
	default:
		return nil, "key-variable", errors.New("the variable is not set")
	}
	keys, err = opaque.ParseKeys(content)
	return keys, at, err
}

// sharer returns the first generator before this one that has a secret of these keys for another form, or nothing. The
// secrets count and not their places: a file can have two names.
func (s *opaqueSettings) sharer(p *place, keys []opaque.Key) string {
	all := p.config.Settings
	for _, name := range all.Names() {
		other := all.Generators[name]
		if name >= p.generator {
			break
		}
		if other.Kind != "opaque" || cmp.Or(other.Settings["form"], "sealed") == s.form {
			continue
		}
		theirs, _, _ := keysAt(p, other.Settings["key-file"], other.Settings["key-variable"]) // its own check returns the error
		for _, key := range theirs {
			if slices.ContainsFunc(keys, key.SameSecret) {
				return name
			}
		}
	}
	return ""
}

// refused is the error of a setting.
func refused(key, limit string) error {
	return &kind.SettingError{Key: key, Limit: strings.TrimPrefix(limit, opaque.ErrSetting.Error()+": ")}
}
