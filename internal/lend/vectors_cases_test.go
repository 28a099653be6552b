package lend_test

import (
	"slices"
	"time"

	"snowfence.example/snowfence/internal/lend"
)

// The layouts of the cases.
const (
	plain       = "ms41-worker10-seq12@2026-01-01T00:00:00Z"
	datacenters = "ms41-datacenter5-worker5-seq12@2010-11-04T01:42:54.657Z"
	sonyflake   = "10ms39-seq8-worker16@2014-09-01T00:00:00Z"
	uuid        = "wide-ms48-version4-seq12-variant2-worker20-random42@1970-01-01T00:00:00Z"
	objectID    = "wide-s32-worker40-seq24@1970-01-01T00:00:00Z"
)

// playedCase is a case, and how it is played. Times of stamps and bounds are milliseconds after noon.
type playedCase struct {
	name string
	play func(*script)
}

func vectorCases() []playedCase {
	return slices.Concat(examples(), boundCases(), endCases(), layoutCases())
}

// examples are the ones of docs/lending.md.
func examples() []playedCase {
	const loss = 15 * time.Second
	begin := func(s *script) {
		s.claim(plain, 37, lossy(loss))
		s.due(115020)
		s.id(20, "")
		s.extend(115020)
		s.answered(115050, s.mark, s.answer(75020))
		s.id(15050, "119044476974026752")
	}
	return []playedCase{
		{"example 1, a durable store", func(s *script) {
			s.claim(plain, 37)
			s.next(0)
			s.id(5, "119044413870723072")
			s.due(120000)
			s.ids(59999, 4096, "119044665503801343")
			s.id(60000, "")
			s.extend(120000)
			s.answered(120010, s.mark, s.answer(80000))
			s.due(140000)
			s.id(60000, "119044665507991552")
			s.next(60001)
		}},
		{"example 1, closed after half a minute", func(s *script) {
			s.claim(plain, 37)
			s.extend(120000)
			s.answered(120010, s.mark, s.answer(80000))
			s.id(30500, "119044541776023552")
			s.next(30501)
		}},
		{"example 2, a store that can lose 15 s", func(s *script) {
			begin(s)
			s.due(135020)
			s.extend(135020)
			s.again(145020)
			s.answered(145060, s.mark, s.answer(105020))
			s.id(60060, "119044665759649792")
			s.id(75019, "119044728502243328")
			s.id(75020, "")
			s.due(160060)
		}},
		{"example 3, sent too early", func(s *script) {
			begin(s)
			s.extend(129000)
			s.answered(131000, s.mark, s.answer(89000))
			s.id(59999, "119044665503797248")
			s.id(60000, "")
			s.due(149000)
		}},
	}
}

// boundCases are about clocks, bounds and answers.
func boundCases() []playedCase {
	return []playedCase{
		{"the clock steps back", func(s *script) {
			s.claim(plain, 37)
			s.id(1000, "119044418044055552")
			s.id(400, "119044418044055553")
			s.id(-200, "119044418044055554")
			s.id(1001, "119044418048249856")
			s.next(1002)
		}},
		{"the clock is behind the floor", func(s *script) {
			s.claim(plain, 37)
			s.id(-300, "119044413849751552")
			s.next(1)
		}},
		{"the sequence is full", func(s *script) {
			s.claim(plain, 37)
			s.ids(0, 4096, "119044413849755647")
			s.id(0, "119044413853945856")
			s.id(1, "119044413853945857")
			s.next(2)
		}},
		{"the bound is reached", func(s *script) {
			s.claim(plain, 37)
			s.id(59999, "119044665503797248")
			s.ids(62000, 2, "")
			s.id(59998, "119044665503797249")
			s.extend(130000)
			s.answered(130010, s.mark, s.answer(90000))
			s.id(70000, "119044707451031552")
		}},
		{"the sequence is full at the last tick", func(s *script) {
			s.claim(plain, 37)
			s.ids(59999, 4096, "119044665503801343")
			s.id(59999, "")
			s.next(60000)
		}},
		{"the loss grows, and does not come down again", func(s *script) {
			s.claim(plain, 37)
			s.id(5, "119044413870723072")
			s.extend(120000)
			s.answered(120010, s.mark, s.answer(80000, lossy(10*time.Second)))
			s.due(140000)
			s.id(60000, "")
			s.extend(129000)
			s.answered(129010, s.mark, s.answer(89000))
			s.id(60000, "")
			s.extend(139010)
			s.answered(139020, s.mark, s.answer(99010))
			s.id(88999, "119044787138613248")
			s.id(89000, "")
		}},
		{"a second answer to an extension is ignored", func(s *script) {
			s.claim(plain, 37)
			s.extend(120000)
			s.again(130000)
			s.answered(130010, s.mark, s.answer(80000))
			s.answered(130020, s.mark, s.answer(90000))
			s.id(79999, "119044749389877248")
			s.id(80000, "")
		}},
		{"an answer with another mark is ignored", func(s *script) {
			s.claim(plain, 37)
			s.extend(120000)
			s.answered(120005, "0123456789abcdef", s.answer(90000))
			s.answered(120006, "", s.answer(90000))
			s.id(60000, "")
			s.answered(120010, s.mark, s.answer(80000))
			s.id(60000, "119044665507991552")
		}},
		{"an answer of another worker id is refused", func(s *script) {
			s.claim(plain, 37)
			s.extend(120000)
			s.answered(120010, s.mark, s.answer(80000, func(a *lend.Answer) { a.Lease.Worker = 38 }))
		}},
		{"an answer with another floor is refused", func(s *script) {
			s.claim(plain, 37)
			s.extend(120000)
			s.answered(120010, s.mark, s.answer(80000, func(a *lend.Answer) { a.Floor++ }))
		}},
		{"a claim whose check is another is refused", func(s *script) {
			s.claim(plain, 37)
			s.steps[0].Answer["time_shift"] = 21
			s.steps[0].Outcome = "refused"
		}},
	}
}

// endCases are about the end of a lease.
func endCases() []playedCase {
	return []playedCase{
		{"the lease is gone, and a late answer changes nothing", func(s *script) {
			s.claim(plain, 37)
			s.id(5, "119044413870723072")
			s.extend(120000)
			s.gone()
			s.id(6, "")
			s.answered(120010, s.mark, s.answer(80000))
			s.id(60000, "")
		}},
		{"a release while an extension has no answer", func(s *script) {
			s.claim(plain, 37)
			s.id(5, "119044413870723072")
			s.extend(120000)
			s.release(6)
			s.id(6, "")
			s.answered(120010, s.mark, s.answer(80000))
			s.id(7, "")
		}},
		{"a clock that is behind too far makes no more ids", func(s *script) {
			s.claim(plain, 37)
			s.id(7000, "119044443209879552")
			s.id(2000, "119044443209879553")
			s.id(1999, "")
			s.id(8000, "")
			s.next(7001)
		}},
	}
}

// layoutCases are about the bits of ids.
func layoutCases() []playedCase {
	return []playedCase{
		{"datacenter and worker", func(s *script) {
			s.claim(datacenters, 7<<5|9)
			s.id(5, "2125560127310172160")
			s.id(5, "2125560127310172161")
			s.next(6)
		}},
		{"a unit of 10 ms, the sequence above the worker", func(s *script) {
			s.claim(sonyflake, 513)
			s.id(9, "647732070973440513")
			s.id(10, "647732070990217729")
			s.ids(10, 255, "647732071006929409")
			s.id(10, "647732071006994945")
			s.next(3)
		}},
		{"a UUID with random bits", func(s *script) {
			s.claim(uuid, 1<<19|5)
			s.id(5, "01a21293-b605-8000-a000-179b97f4a7c2")
			s.id(5, "01a21293-b605-8001-a000-17372fe94f83")
			s.ids(5, 4095, "01a21293-b606-8000-a000-16d2c7ddf744")
		}},
		{"96 bits in hexadecimal, a unit of 1 s", func(s *script) {
			s.claim(objectID, 1<<39|77)
			s.id(999, "6b06cdc0800000004d000000")
			s.id(1000, "6b06cdc1800000004d000000")
			s.next(2)
		}},
	}
}
