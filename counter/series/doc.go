// Package series gives documents numbers without holes, as the law wants them for invoices. They
// live in a PostgreSQL, MySQL or MariaDB database, beside the documents.
//
// It costs this: there is one writer at a time. A verb locks its series' row by SELECT … FOR
// UPDATE, until the transaction ends. All others who reserve, confirm or void there wait as long.
// So keep transactions short, and let the server end transactions that are left open, by PostgreSQL's
// idle_in_transaction_session_timeout or MySQL's wait_timeout.
//
//	invoices, err := series.New(series.Config{Dialect: series.PostgreSQL, Tenant: "acme", Name: "invoices", Prefix: "INV-"})
//	r, err := invoices.Reserve(ctx, tx, time.Minute) // r.Text is INV-1
//	_, err = tx.ExecContext(ctx, "INSERT INTO invoice …", r.Text)
//	err = invoices.Confirm(ctx, tx, r.Number, r.Token)
//	err = tx.Commit() // a transaction that is rolled back leaves nothing, and the next one gets INV-1
//
// Reserve gives the least number whose reservation timed out, or else the next one. Only its token
// ends a reservation: Confirm, or Void with a reason. Then the number never changes. A reservation
// times out by the database's clock; no host's clock is read. From then on it can't be ended, and
// its number is offered again. To close one without a use, reserve it again and void it.
//
// In a transaction of the caller, READ COMMITTED is best. Higher levels are safe too, but a server
// may refuse a transaction that began before another's end, and MySQL's locks on gaps may lead to
// a deadlock. The caller then repeats all of it. MySQL with binlog_format=STATEMENT refuses READ
// COMMITTED.
//
// Given a *sql.DB, each verb is a transaction of its own at READ COMMITTED, and is tried again after
// a failure. If the reply to a COMMIT is lost, the next try waits for the same lock and then sees its
// outcome. If no try gets through, the error wraps [ErrUnknown]. A reservation that exists then times
// out and is offered again: no hole. Confirm and Void can be called again.
//
// [Create] makes the two tables of tables.sql. Their times are microseconds since 1970 in UTC. Numbers
// are as durable as the documents: a failover or a restored dump that forgets those gives the
// numbers again too.
package series
