package view

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
)

// TestStateAtAllItsBoundsIsBelow200KB has one namespace, and names of usual lengths.
func TestStateAtAllItsBoundsIsBelow200KB(t *testing.T) {
	second := time.Unix(1_800_000_000, 0).UTC()
	now, ms := second.Add(123_456_789), second.Add(123*time.Millisecond)
	const host = "ids-7d9f8b6c5d-x2x4z.eu-west-1"
	const who = "pid 123456 on host " + host
	offset := 1234.5678
	w := Worker{
		Number: 1023, State: "held", Host: host, PID: 123456, Program: "v1.2.3", Term: 12345, From: ms, Until: ms, Written: now, Window: 60_000, Age: 12_345,
		Offset: &offset, Error: 500.123, Claimant: "snowfence: worker 1023 is held by " + who,
	}
	n := Namespace{Name: "orders", Cells: strings.Repeat("h", MaxCells)}
	for range MaxHolders {
		n.Holders = append(n.Holders, w)
	}
	for range MaxRest {
		n.Rest = append(n.Rest, w)
	}
	for range MaxChanges {
		n.Changes = append(n.Changes, Change{1023, second, "quarantined", who, who})
	}
	s := State{Namespaces: []Namespace{n}}
	for range MaxEvents {
		s.Events = append(s.Events, Event{Number: 123456, Time: now, Level: "WARN", Text: strings.Repeat("x", MaxEventText/MaxEvents)})
	}
	for range MaxRefusals {
		s.Refusals = append(s.Refusals, front.Refusal{
			Generator: "orders-of-the-shop", Type: front.LeaseUnavailable, Count: 1 << 40, Last: now,
			Address: netip.MustParseAddr("2001:db8:1111:2222:3333:4444:5555:6666"), Token: "shop-in-the-west",
		})
	}
	if text, err := json.Marshal(s); err != nil || len(text) > 200_000 {
		t.Errorf("%d bytes: %v", len(text), err)
	}
}
