package decode

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// pictureWidth is that of 64 bits, blanks between fields, and a label of the last.
const pictureWidth = 80

// Picture draws the 64 bits with a label under each field, at most 80 columns
// wide:
//
//	0 00110101111010110111001010011111010101010 01011 11010 000000000000
//	│ │                                         │     │     └ sequence 12
//	│ │                                         │     └ worker 5
//	│ │                                         └ datacenter 5
//	│ └ time 41
//	└ unused 1
func (d *Document) Picture() []string {
	var line strings.Builder
	columns := make([]int, len(d.Fields)) // where each field starts
	column := 0
	for i, f := range d.Fields {
		if i > 0 {
			line.WriteByte(' ')
			column++
		}
		columns[i] = column
		fmt.Fprintf(&line, "%0*b", f.Bits, f.Value)
		column += f.Bits
	}
	picture := []string{line.String()}
	for last := len(d.Fields) - 1; last >= 0; last-- {
		line.Reset()
		column := 0
		for i := range last {
			line.WriteString(strings.Repeat(" ", columns[i]-column))
			line.WriteString("│")
			column = columns[i] + 1
		}
		line.WriteString(strings.Repeat(" ", columns[last]-column))
		f := d.Fields[last]
		line.WriteString(clip(fmt.Sprintf("└ %s %d", f.Name, f.Bits), pictureWidth-columns[last]))
		picture = append(picture, line.String())
	}
	return picture
}

// clip cuts a text to a number of characters.
func clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width])
}
