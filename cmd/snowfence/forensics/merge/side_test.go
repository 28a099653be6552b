package merge_test

import (
	"strings"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
)

func parse(t *testing.T, args ...string) []merge.Side {
	t.Helper()
	sides, err := merge.ParseSides(args)
	if err != nil {
		t.Fatal(err)
	}
	return sides
}

func TestPartsWithOneNameAreOneSide(t *testing.T) {
	sides := parse(t, "eu=players.csv", "us.txt", "eu=namespace:etcd://host/ids#players", "eu=layout:twitter")
	if len(sides) != 2 || sides[0].Name != "eu" || sides[1].Name != "B" {
		t.Fatalf("%+v", sides)
	}
	eu := sides[0]
	if len(eu.Data) != 1 || len(eu.Namespaces) != 1 || len(eu.Layouts) != 1 {
		t.Errorf("%+v", eu)
	}
	if n := eu.Namespaces[0]; n.Store != "etcd://host/ids" || n.Name != "players" {
		t.Errorf("%+v", n)
	}
}

func TestSourcesAreNeverTakenForNamespaces(t *testing.T) {
	for _, arg := range []string{
		"postgres://u:p@host/db#select id from players", "postgres://u:p@host/db", "mysql://h/db?x=1#select a, b=c from t#1",
		"folder#1/ids.csv#2", "ids#orders", "./namespace:x", "./a=b.csv", "-", "ids.csv#id=;,x",
	} {
		if side := parse(t, arg, "other")[0]; len(side.Data) != 1 || side.Data[0] != arg || side.Name != "A" {
			t.Errorf("%q: %+v", arg, side)
		}
	}
}

func TestNamespacesAreNamedBehindTheLastHash(t *testing.T) {
	for _, x := range []struct{ arg, store, name string }{
		{"namespace:file:/srv/ids#orders", "file:/srv/ids", "orders"},
		{"namespace:file:/srv/ids", "file:/srv/ids", ""},
		{"namespace:file:/srv/a#b#orders", "file:/srv/a#b", "orders"},
		{"namespace:postgres://u@h/db?table=t#n", "postgres://u@h/db?table=t", "n"},
	} {
		n := parse(t, x.arg, "other")[0].Namespaces
		if len(n) != 1 || n[0] != (merge.Namespace{Store: x.store, Name: x.name}) {
			t.Errorf("%q: %+v", x.arg, n)
		}
	}
}

func TestLayoutsTakeWorkers(t *testing.T) {
	f := parse(t, "layout:twitter#8,0-3,4-5,2", "other")[0].Layouts[0]
	want := []merge.Workers{{First: 0, Last: 5}, {First: 8, Last: 8}}
	if len(f.Workers) != 2 || f.Workers[0] != want[0] || f.Workers[1] != want[1] {
		t.Errorf("workers %v, want %v", f.Workers, want)
	}
	if f := parse(t, "layout:ms41-worker10-seq12@2026-01-01", "other")[0].Layouts[0]; len(f.Workers) != 1 || f.Workers[0].Last != 1023 {
		t.Errorf("workers %v", f.Workers)
	}
}

func TestWrongSidesAreNamedWithTheirField(t *testing.T) {
	for _, x := range []struct {
		args []string
		says string
	}{
		{nil, "needs at least two sides"},
		{[]string{"a.txt"}, "needs at least two sides"},
		{[]string{"a=x", "a=y"}, "needs at least two sides"},
		{[]string{"a=x", ""}, "side B: source: is empty"},
		{[]string{"x", "namespace:"}, "side B: namespace: is empty"},
		{[]string{"x", "us=namespace:file:/srv#"}, "side us: namespace: has no name behind the last #"},
		{[]string{"x", "layout:nonsense"}, `side B: layout "nonsense": invalid layout`},
		{[]string{"x", "layout:twitter#0-1024"}, `side B: worker numbers "0-1024": must be from 0 to 1023 in the layout ms41-datacenter5`},
		{[]string{"x", "layout:twitter#3-1"}, `worker numbers "3-1": a range must not go down`},
		{[]string{"x", "layout:twitter#one"}, `worker numbers "one": must be numbers and ranges such as 0-3,8`},
		{[]string{"x", "etcd://user:hush@host/ids"}, `side B: source "etcd:…": is a store and no source of ids: write namespace:URL#NAME`},
		{[]string{"x", "file:/srv/ids"}, `is a store and no source of ids`},
		{[]string{"A=x", "B=y", "z", "A=w", "layout:twitter"}, ""},
		{[]string{"B=x", "y"}, "side B: name: is the name of the side before it too"},
		{[]string{"x", "A=y", "z"}, "side A: name: is the name of the side before it too"},
		{[]string{"x", "namespace:redis://u:hu#sh@host:1"}, "side B: namespace: has no name behind the last #"},
	} {
		_, err := merge.ParseSides(x.args)
		switch {
		case x.says == "" && err != nil:
			t.Errorf("%q: %v", x.args, err)
		case x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)):
			t.Errorf("%q: %v, want %q", x.args, err, x.says)
		case err != nil && strings.Contains(err.Error(), "hush"):
			t.Errorf("%q: shows a password: %v", x.args, err)
		}
	}
	many := make([]string, merge.MaxSides+1)
	for i := range many {
		many[i] = "x"
	}
	if _, err := merge.ParseSides(many); err == nil || !strings.Contains(err.Error(), "and at most 64") {
		t.Errorf("%v", err)
	}
}
