// Package page is the page for operators: the files of assets/, filled with the numbers of a [Source],
// and the same numbers as JSON. The HTTP front has its addresses in the table of routes; docs/page.md
// describes them.
//
// The page only reads. A reader needs the same rights as for /metrics. A browser shows its token once,
// to /ui/token, and keeps it in a cookie that scripts and other sites can't use. Nothing on the page
// comes from another host or stands in line: see [Harden].
package page
