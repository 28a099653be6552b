// Package page lays out answers for people: lines, tables and wrapped text for
// a terminal of 80 columns. Texts of others can't begin a line or steer the
// terminal: see [Visible].
package page
