package check

import (
	"cmp"
	"maps"
	"slices"

	"snowfence.example/snowfence"
	idsource "snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// judge takes pairs of places with equal ids, lowest ids first, and puts them into
// groups. When all are there, it finds a cause for each group. All else that it
// looks up was seen while reading and does not change any more.
type judge struct {
	*checker
	foreigners map[[2]int]bool // see [checker.foreign]
	groups     map[subject]*group
	blocks     int // of all groups
	findings   map[label]*finding
	repeated   map[[2]int]*idsource.Rounding // the ids that repeat, by their sources
}

const (
	// maxGroups bounds how many groups there are, and maxBlocks how many blocks.
	maxGroups = 1 << 15
	maxBlocks = 1 << 16
	// maxShort is up to how many blocks of a group may be short.
	maxShort = 8
)

// subject is what the pairs of a group have in common.
type subject struct {
	sources [2]int
	worker  int64 // -1 if it is not known
	misfit  bool  // the ids don't fit the layout
	run     int   // see [sighting.run]; apart where it does not say anything
}

// apart is the run of pairs of two sources, and of worker ids whose descents are not kept.
const apart = -2

// pairs is a number of pairs.
type pairs struct {
	count       uint64
	first, last uint64 // ids
	low, high   uint64 // positions of the first places
}

func (p *pairs) add(o pairs) {
	if p.count == 0 {
		*p = o
		return
	}
	p.count += o.count
	p.first, p.last = min(p.first, o.first), max(p.last, o.last)
	p.low, p.high = min(p.low, o.low), max(p.high, o.high)
}

// group is the pairs of a subject.
type group struct {
	subject
	pairs
	seen   *descent // of a run: where it goes back
	blocks []block  // the one that was added to last stands first
	rest   pairs    // that are in no block
}

// block is pairs of a group whose places are equally far apart.
type block struct {
	distance uint64
	pairs
	pace
}

func newJudge(c *checker) *judge {
	return &judge{checker: c, foreigners: c.foreign(), groups: map[subject]*group{}, findings: map[label]*finding{}, repeated: map[[2]int]*idsource.Rounding{}}
}

// add adds a pair: an id that stands at two positions, a before b.
func (j *judge) add(id, a, b uint64) {
	g := j.group(j.subject(id, a, b))
	if j.repeated[g.sources] == nil {
		j.repeated[g.sources] = &idsource.Rounding{}
	}
	j.repeated[g.sources].Add([]idsource.Item{{ID: snowfence.ID(id)}})
	p := pairs{1, id, id, a, a}
	g.pairs.add(p)
	i := slices.IndexFunc(g.blocks, func(k block) bool { return k.distance == b-a })
	switch {
	case i >= 0:
		k := g.blocks[i]
		copy(g.blocks[1:], g.blocks[:i])
		g.blocks[0] = k
	case j.blocks == maxBlocks:
		g.rest.add(p)
		return
	default:
		j.blocks++
		g.blocks = slices.Insert(g.blocks, 0, block{distance: b - a})
	}
	g.blocks[0].pairs.add(p)
	g.blocks[0].pace.add(j.tick(g.subject, id)+1, a)
	if len(g.blocks) > maxShort {
		j.drop(g)
	}
}

// drop puts the pairs of the short block that was least recently added to with the rest.
func (j *judge) drop(g *group) {
	for i := len(g.blocks) - 1; i >= maxShort; i-- {
		if k := g.blocks[i]; k.count < leastTurns {
			g.rest.add(k.pairs)
			g.blocks = slices.Delete(g.blocks, i, i+1)
			j.blocks--
			return
		}
	}
}

// subject finds what a pair is about.
func (j *judge) subject(id, a, b uint64) subject {
	s := subject{sources: [2]int{j.source(a), j.source(b)}, worker: -1, run: apart}
	f := j.observer.fields
	if f == nil || j.foreigners[s.sources] {
		return s
	}
	if s.misfit = !f.fits(id); s.misfit {
		return s
	}
	s.worker = f.number(id)
	if seen := j.sighting(s, 0); s.sources[0] == s.sources[1] && seen != nil && seen.followed() {
		s.run = seen.run(a, b)
	}
	return s
}

// tick orders the ids of a subject: by their time, where it is known.
func (j *judge) tick(s subject, id uint64) uint64 {
	if s.worker < 0 {
		return id
	}
	return j.observer.fields.tick.of(id)
}

// sighting is what was seen of a subject's worker id in one of its sources, or nil.
func (j *judge) sighting(s subject, side int) *sighting {
	if s.worker < 0 {
		return nil
	}
	return j.observer.sources[s.sources[side]].sighting(s.worker)
}

// group returns that of a subject. If there are too many, it ignores the worker id.
func (j *judge) group(s subject) *group {
	g := j.groups[s]
	if g == nil && len(j.groups) >= maxGroups {
		s.worker, s.run = -1, apart
		g = j.groups[s]
	}
	if g == nil {
		g = &group{subject: s}
		if s.run >= 0 {
			g.seen = &j.sighting(s, 0).went[s.run]
		}
		j.groups[s] = g
	}
	return g
}

// label is a cause, of a worker id in one or two sources; -1 where that does not matter.
type label struct {
	kind    Kind
	why     reason
	sources [2]int
	worker  int64
}

// reason says more of a kind.
type reason int

const (
	plain        reason = iota
	twoSequences        // same worker: two rising sequences within a source
	unknown             // unexplained: the ids don't tell their process
	undecided           // unexplained: rows that stand twice, or a clock set back
	disorder            // unexplained: ids go back more often than is followed
	alike               // unexplained: more in common than two processes have by chance
)

// finding is what was counted under a label.
type finding struct {
	pairs
	seen    *descent // the furthest that it is about, or nil
	issued  uint64   // ids of such descents, new ones too
	longest *line    // of rows that were copied
	lines   map[course]bool
}

// finding returns that of a label.
func (j *judge) finding(l label) *finding {
	f := j.findings[l]
	if f == nil {
		f = &finding{lines: map[course]bool{}}
		j.findings[l] = f
	}
	return f
}

// settle finds the causes, when all pairs are there.
func (j *judge) settle() {
	all := slices.SortedFunc(maps.Values(j.groups), func(a, b *group) int {
		return cmp.Or(slices.Compare(a.sources[:], b.sources[:]), cmp.Compare(a.low, b.low), cmp.Compare(a.first, b.first))
	})
	lines := j.copies(all)
	for _, g := range all {
		if by, ok := j.rounded(g.sources); ok {
			j.finding(label{Rounded, plain, by, -1}).pairs.add(g.pairs)
			continue
		}
		rest := g.rest
		for _, b := range g.blocks {
			l := lines[course{g.sources, b.distance}]
			if l == nil {
				rest.add(b.pairs)
				continue
			}
			f := j.finding(label{Copies, plain, g.sources, -1})
			f.pairs.add(b.pairs)
			f.lines[l.course] = true
			if f.longest == nil || l.count > f.longest.count {
				f.longest = l
			}
		}
		if rest.count > 0 {
			j.settleRest(g, rest)
		}
	}
}

// rounded reports whether equal ids of two sources look rounded, so that they say nothing of the rows. It returns
// the first source whose ids look rounded. It returns both sources if only their repeated ids look rounded.
func (j *judge) rounded(sources [2]int) ([2]int, bool) {
	for _, source := range sources {
		if j.observer.sources[source].rounding.Text() != "" {
			return [2]int{source, source}, true
		}
	}
	return sources, j.repeated[sources].Text() != ""
}

// settleRest finds the cause of the pairs of a group that are no copied rows.
func (j *judge) settleRest(g *group, rest pairs) {
	f := j.finding(j.label(g, rest.count))
	f.pairs.add(rest)
	if d := g.seen; d != nil {
		f.issued += d.rows
		if f.seen == nil || d.from-d.to > f.seen.from-f.seen.to {
			f.seen = d
		}
	}
}

const (
	// edge is what part of the shorter of two terms they have in common at most
	// when one follows the other and begins too early: a tenth.
	edge = 10
	// interleaved is what part of a worker id's ids may fit neither of two rising
	// sequences of two processes, and what part must go back at least: a fiftieth.
	// Sequences that alternate go back all the time, a clock that is set back does not.
	interleaved = 50
	// leastAlike is how many duplicates of a worker id are held against chance, at
	// least, and byChance how many times as many as two processes would share there
	// must be for the same records to be as likely.
	leastAlike = 8
	byChance   = 4
)

// label finds the cause of n pairs.
func (j *judge) label(g *group, n uint64) label {
	f := j.observer.fields
	l := label{Unexplained, unknown, g.sources, -1}
	within := g.sources[0] == g.sources[1]
	switch {
	case j.foreigners[g.sources] || g.misfit:
		l.kind, l.why = MixUp, plain
		return l
	case f == nil, !within && f.layout.Workers() == 1:
		return l
	}
	a, b := j.sighting(g.subject, 0), j.sighting(g.subject, 1)
	if a == nil || b == nil { // not watched
		return l
	}
	l.worker = g.worker
	switch {
	case g.run != apart:
		l.kind, l.why = g.verdict()
	case within && !alternating(a, n):
		l.why = disorder
	case within:
		l.kind, l.why = SameWorker, twoSequences
	case staggered(a, b):
		l.kind, l.why = Overlapping, plain
	case n*4 >= min(a.ids, b.ids) && alone(n, min(a.ids, b.ids), a, b):
		l.why = alike
	default:
		l.kind, l.why = SameWorker, plain
	}
	return l
}

// verdict finds the cause of a run. A generator goes on at its own pace: it issues
// ids that were not there before, and leaves out some that were. Where none is new,
// where those that are not stand in one piece, which may have been copied ahead of its
// place, and where a sequence began again within its tick, nothing tells.
func (g *group) verdict() (Kind, reason) {
	if d := g.seen; d == nil || d.from == d.to || d.rows <= g.count || g.unbroken() {
		return Unexplained, undecided
	}
	return SetBack, plain
}

// unbroken reports whether the pairs of a group are rows that stand in one piece.
func (g *group) unbroken() bool {
	return len(g.blocks) == 1 && g.rest.count == 0 && g.count == g.high-g.low+1
}

// alternating reports whether the ids of a worker id in one source, of which n are
// there twice, are those of two processes in turn. The second has ids of its own.
func alternating(s *sighting, n uint64) bool {
	late := s.second + s.third
	// Only the steps within a sequence show how far apart its ids stand.
	return s.descents*interleaved >= s.ids && s.third*interleaved <= s.ids && n < late && !alone(n, 2*late, s)
}

// staggered reports whether of two terms one begins near the end of the other.
func staggered(a, b *sighting) bool {
	if a.low > b.low {
		a, b = b, a
	}
	common := min(a.high, b.high) - b.low + 1
	return a.low < b.low && a.high < b.high && common*edge <= min(a.high-a.low, b.high-b.low)+1
}

// alone reports whether two processes with one worker id, of which one issued so
// many ids, would hardly have n in common: the ids stand so far apart that few have
// another in their tick or in the next. The second process hits as few of them by
// chance. The same records, or two processes that act on the same events, have more.
//
// How far apart they stand is only seen where they stand in order, or nearly.
func alone(n, ids uint64, seen ...*sighting) bool {
	crowd, ordered := 0.0, false
	for _, w := range seen {
		if w.descents*4 <= w.ids {
			crowd, ordered = max(crowd, float64(w.crowded)/float64(w.ids)), true
		}
	}
	return ordered && n >= leastAlike && float64(n) > byChance*crowd*float64(ids)
}
