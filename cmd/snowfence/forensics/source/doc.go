// Package source reads ids from wherever people keep them: files, standard
// input and columns of databases.
//
//	PATH                         text, or a column of CSV, each also in gzip or zstd
//	-                            the same from standard input
//	postgres://user@host/db      a column of PostgreSQL
//	mysql://user@host/db         a column of MySQL or MariaDB; mariadb:// too
//
// It promises that every id is read exactly. Any other text is an [InvalidError]. A packed stream that breaks off is an error, and so is a header
// that was not announced. Each line, or record, is an id, or is refused, but for blank ones and
// comments.
//
// Every id comes with a number that shows where it stood; [Source.Place] turns it
// into words. Ids are read in bulk, and in bounded memory however long a source
// is. All messages of this package hide passwords.
package source
