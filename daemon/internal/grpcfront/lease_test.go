package grpcfront

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/daemon/internal/fronttest"
)

func TestLeaseIsClaimedExtendedAndGivenBack(t *testing.T) {
	f := newFixture(t, "")
	f.late(fronttest.NewLender(t))
	who := &snowfencev1.Borrower{NowMs: time.Now().UnixMilli(), Host: "a", Pid: 7, Program: "billing"}
	claimed, err := f.ids.Claim(t.Context(), &snowfencev1.ClaimRequest{Generator: "late", Borrower: who})
	if err != nil {
		t.Fatal(err)
	}
	if len(claimed.GetFields()) != 3 || claimed.GetFields()[0].GetShift() != 22 || claimed.GetUntil() <= claimed.GetFloor() || claimed.GetCheck() == "" {
		t.Errorf("claimed %v", claimed)
	}
	who.NowMs += 20_000
	extend := &snowfencev1.ExtendRequest{Generator: "late", Borrower: who, Lease: claimed.GetLease(), Mark: "00000000000000a1"}
	extended, err := f.ids.Extend(t.Context(), extend)
	if err != nil || extended.GetMark() != extend.GetMark() || extended.GetUntil() <= claimed.GetUntil() {
		t.Errorf("extended %v, %v", extended, err)
	}
	next := extended.GetFloor()
	release := &snowfencev1.ReleaseRequest{Generator: "late", Borrower: who, Lease: extended.GetLease(), Mark: "00000000000000a2", Next: &next}
	if _, err := f.ids.Release(t.Context(), release); err != nil {
		t.Error(err)
	}
	extend.Lease, extend.Mark = extended.GetLease(), "00000000000000a3"
	_, gone := f.ids.Extend(t.Context(), extend)
	extend.Lease = "AQ"
	_, unreadable := f.ids.Extend(t.Context(), extend)
	_, notLent := f.ids.Claim(t.Context(), &snowfencev1.ClaimRequest{Generator: "default", Borrower: who})
	for want, err := range map[codes.Code]error{codes.FailedPrecondition: gone, codes.InvalidArgument: unreadable} {
		if status.Code(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if status.Code(notLent) != codes.InvalidArgument {
		t.Errorf("a claim of a generator that lends nothing: %v", notLent)
	}
}
