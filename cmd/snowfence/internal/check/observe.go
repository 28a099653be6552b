package check

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	idsource "snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

const (
	// maxSightings bounds how many worker ids are watched, over all sources.
	maxSightings = 1 << 15
	// maxDirect is up to how many worker ids are found without a map, over all
	// sources: each takes room, whether it is seen or not.
	maxDirect = 1 << 18
	// tomorrow is how far in the future an id's time may lie: clocks differ.
	tomorrow = 24 * time.Hour
)

// fields is a layout made ready to take many ids apart.
type fields struct {
	layout   snowfence.Layout
	mask     uint64 // of the bits that the layout has
	tick     part
	dc       part
	worker   part
	sequence part
	latest   uint64 // the highest tick that an id may have
	dcShift  int    // of the datacenter within the worker id's number
	low      int    // bits of the sequence
}

// part is a field of an id.
type part struct {
	shift uint
	mask  uint64
}

func (p part) of(id uint64) uint64 { return id >> p.shift & p.mask }

func partOf(l snowfence.Layout, kind snowfence.FieldKind) part {
	return part{uint(l.Shift(kind)), 1<<l.Bits(kind) - 1}
}

// ready prepares a layout.
func ready(l snowfence.Layout, now time.Time) *fields {
	return &fields{
		layout: l, mask: ^uint64(0) >> (64 - l.TotalBits()), latest: uint64(max(0, l.TickAt(now.Add(tomorrow)))),
		tick: partOf(l, snowfence.Time), dc: partOf(l, snowfence.Datacenter), worker: partOf(l, snowfence.Worker), sequence: partOf(l, snowfence.Sequence),
		dcShift: l.Bits(snowfence.Worker), low: l.Bits(snowfence.Sequence),
	}
}

// fits reports whether an id may be one of the layout that has been issued.
func (f *fields) fits(id uint64) bool { return id&^f.mask == 0 && f.tick.of(id) <= f.latest }

// number is the worker id with its datacenter.
func (f *fields) number(id uint64) int64 {
	return int64(f.dc.of(id)<<f.dcShift | f.worker.of(id))
}

// rank orders the ids of one worker id as they are issued.
func (f *fields) rank(id uint64) uint64 {
	return f.tick.of(id)<<f.low | f.sequence.of(id)
}

func (f *fields) time(tick uint64) time.Time { return f.layout.TimeOf(snowfence.Tick(tick)) }

// witness is what was seen of one source while it was read.
type witness struct {
	ids       uint64
	falls     uint64 // how often an id was lower than the one before
	before    uint64
	sample    []snowfence.ID
	rounding  idsource.Rounding
	unfit     uint64 // ids that don't fit the layout
	firstBad  idsort.Item
	badSample []snowfence.ID
	direct    []*sighting
	byNumber  map[int64]*sighting
}

// observer watches ids in the order of reading.
type observer struct {
	fields    *fields // nil: no layout is known
	sources   []*witness
	sightings int
	direct    int64 // worker ids that are found without a map
	descents  int   // that are kept, of all sightings
}

// begin begins a source.
func (o *observer) begin() *witness {
	w := &witness{}
	if o.fields != nil && o.fields.layout.Workers() <= maxDirect-o.direct {
		w.direct = make([]*sighting, o.fields.layout.Workers())
		o.direct += o.fields.layout.Workers()
	} else {
		w.byNumber = map[int64]*sighting{}
	}
	o.sources = append(o.sources, w)
	return w
}

// see watches items that were read.
func (o *observer) see(w *witness, items []idsort.Item) {
	w.rounding.Add(items)
	for _, x := range items {
		id := uint64(x.ID)
		if id < w.before {
			w.falls++
		}
		w.before = id
		if o.fields == nil {
			continue
		}
		if !o.fields.fits(id) {
			o.misfit(w, x)
			continue
		}
		if s := o.sighting(w, o.fields.number(id)); s != nil {
			s.see(o, o.fields.tick.of(id), o.fields.rank(id), x.At)
		}
	}
	w.ids += uint64(len(items))
	for i := 0; len(w.sample) < samples && i < len(items); i++ {
		w.sample = append(w.sample, items[i].ID)
	}
}

func (o *observer) misfit(w *witness, x idsort.Item) {
	if w.unfit == 0 {
		w.firstBad = x
	}
	w.unfit++
	if len(w.badSample) < samples {
		w.badSample = append(w.badSample, x.ID)
	}
}

// sighting returns that of a worker id, at first a new one, or nil when there are too many.
func (o *observer) sighting(w *witness, number int64) *sighting {
	if s := w.sighting(number); s != nil {
		return s
	}
	if o.sightings == maxSightings {
		return nil
	}
	o.sightings++
	s := &sighting{}
	if w.direct != nil {
		w.direct[number] = s
	} else {
		w.byNumber[number] = s
	}
	return s
}

// sighting returns what was seen of a worker id, or nil.
func (w *witness) sighting(number int64) *sighting {
	if w.direct != nil {
		return w.direct[number]
	}
	return w.byNumber[number]
}
