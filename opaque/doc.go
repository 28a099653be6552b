// Package opaque writes the text that outsiders see instead of an id, and reads it back. A plain
// id shows when it was made and, beside another one, how many were made between the two.
//
//	keys, err := opaque.ParseKeys(file)
//	sealed, err := opaque.NewSealed("orders", keys...)
//	orders, err := opaque.NewPrefixed("order", sealed)
//	text, err := orders.Encode(id) // order_b76JseD7RK5YAhUdxQorLhe
//
// A [Codec] is one form of text. Each form is deterministic: an id has one text, so equal texts
// show equal ids.
//
//	form      example                  shows         a changed text         a new key
//	Sealed    b76JseD7RK5YAhUdxQorLhe  the key's id  is refused             old keys still decode
//	Permuted  938678556533030283       nothing       is another id          needs another prefix
//	Checked   1ASD13XH1F800B           the id        one typo is refused    there are no keys
//
// [Prefixed] puts a type before them.
//
// # What it promises
//
//   - The text of an id is read back as that id, and stays the same in later versions.
//   - Without the key, a sealed or permuted text shows only whether two ids are equal. This rests
//     on AES, and on a secret from a good source of randomness.
//   - A sealed text is refused if it was changed or made up, or sealed for another purpose. One try
//     passes with a probability of at most 2^-64.
//   - A [Key] shows its secret to no caller, log or encoder.
//
// # What it leaves alone
//
// A text is no permission: a reader of a text can show it again. A key that leaks opens all its
// texts, earlier ones too. Programs make and store the keys. A secret comes from
// crypto/rand, or from "openssl rand -hex 16".
package opaque
