// Package keys assigns generators to the columns of a database: a map from
// "table.column" to a source of ids, as ShardingSphere has it. With it a program puts ids
// into its tables without code of its own for each.
//
//	rules, err := keys.New(map[string]keys.Source{
//		"orders.id":    holder,   // a *fence.Holder
//		"customers.id": segments, // a *counter.Segments
//	})
//	id, err := rules.Insert(ctx, db, "orders.id",
//		"INSERT INTO orders (id, customer) VALUES ($1, $2)", customer)
//
// It promises that no key is zero: GORM, ent and MySQL's AUTO_INCREMENT read a zero as "not
// set". It notices a source that gives an id twice in a row or twice in one batch, which is
// broken or set up wrongly. That keys differ beyond that is the source's promise: of a
// generator that nothing fences, another process may give the same ids.
//
// # Which ids
//
// The keys are ids of 64 bits. Other ids need no rules, since an insert takes them as they are:
// a [snowfence.WideID] is a value of database/sql, which it writes and reads as a UUID. UUIDs of
// other packages are such values too. Texts, such as ULIDs and dated numbers, are strings. Mint
// one, and pass it to ExecContext.
//
// # Lost connections
//
// When a connection breaks during an insert, its outcome is unknown: the row may be there.
// Each call of [Rules.Insert] takes a new id, so a retry never writes a key twice. It may
// write the row twice, under two keys. Where that matters, look for the id that came with the
// error, or send the same id again by the database's own ExecContext: the primary key then
// refuses a second row.
package keys
