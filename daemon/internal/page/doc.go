// Package page is the page for operators: what assets/ has, filled with the numbers of a [Source], and the same
// numbers as JSON. The HTTP front has its addresses in the table of routes; docs/page.md describes them.
//
// The page only reads. A reader needs what /metrics needs. A browser shows its token once, to /ui/token, and keeps it in
// a cookie that no script and no other site can use. Nothing on the page comes from another host or stands in line: see
// [Harden].
package page
