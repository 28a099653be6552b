package decode

// Span is a field of an id, for a drawing of its bits.
type Span struct {
	Name    string `json:"name"`              // the word of the layout's own system
	Kind    string `json:"kind"`              // time, datacenter, worker, sequence, version, variant, random, or unused
	First   int    `json:"first"`             // its highest bit, counted from the highest of the id, which is 0
	Bits    int    `json:"bits"`              // how many there are; 0 for a field of a text
	Value   string `json:"value"`             // decimal up to 63 bits, else hexadecimal
	Meaning string `json:"meaning,omitempty"` // for people
}
