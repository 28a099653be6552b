package opaque

import (
	"encoding/hex"
	"math/big"
	"strings"
	"testing"
)

// The keys of NIST's samples: the first 16, 24 and 32 bytes.
const nistKey = "2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94"

func TestFF1HasNISTsSampleVectors(t *testing.T) {
	// https://csrc.nist.gov/CSRC/media/Projects/Cryptographic-Standards-and-Guidelines/documents/examples/FF1samples.pdf
	const (
		noTweak     = ""
		digitsTweak = "39383736353433323130"
		longTweak   = "3737373770717273373737"
	)
	for _, test := range []struct {
		keyBytes             int
		radix                uint64
		tweak, plain, cipher string
	}{
		{16, 10, noTweak, "0123456789", "2433477484"},
		{16, 10, digitsTweak, "0123456789", "6124200773"},
		{16, 36, longTweak, "0123456789abcdefghi", "a9tv40mll9kdu509eum"},
		{24, 10, noTweak, "0123456789", "2830668132"},
		{24, 10, digitsTweak, "0123456789", "2496655549"},
		{24, 36, longTweak, "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"},
		{32, 10, noTweak, "0123456789", "6657667009"},
		{32, 10, digitsTweak, "0123456789", "1001623463"},
		{32, 36, longTweak, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"},
	} {
		checkFF1(t, test.keyBytes, test.radix, unhex(t, test.tweak), test.plain, test.cipher)
	}
}

func TestFF1HasZcashsVectorsOfRadixTwo(t *testing.T) {
	// https://github.com/zcash-hackworks/zcash-test-vectors/blob/master/ff1.py; the first bit is
	// the lowest of the first byte there.
	tweak := make([]byte, 255)
	for i := range tweak {
		tweak[i] = byte(i)
	}
	for _, test := range []struct {
		tweak         []byte
		plain, cipher string
	}{
		{nil, "0000000000000000000000", "90acee3f83cde7ae5622f3"},
		{nil, "90acee3f83cde7ae5622f3", "5b8bf120f39bab8527ea1b"},
		{nil, "aaaaaaaaaaaaaaaaaaaaaa", "f082b7ee8f29c07691ce64"},
		{tweak, "aaaaaaaaaaaaaaaaaaaaaa", "be11b886a8059c27517bc5"},
	} {
		checkFF1(t, 32, 2, test.tweak, bitsOf(t, test.plain), bitsOf(t, test.cipher))
	}
}

// checkFF1 enciphers and deciphers a string of numerals, as the standard has it.
func checkFF1(t *testing.T, keyBytes int, radix uint64, tweak []byte, plain, cipher string) {
	t.Helper()
	key, err := NewKey('a', unhex(t, nistKey)[:keyBytes])
	if err != nil {
		t.Fatal(err)
	}
	u := len(plain) / 2
	number := func(numerals string) uint64 {
		n, ok := new(big.Int).SetString(numerals, int(radix))
		if !ok {
			t.Fatalf("%q is not of radix %d", numerals, radix)
		}
		return n.Uint64()
	}
	numerals := func(left, right uint64) string {
		text := func(n uint64, width int) string {
			s := new(big.Int).SetUint64(n).Text(int(radix))
			return strings.Repeat("0", width-len(s)) + s
		}
		return text(left, u) + text(right, len(plain)-u)
	}
	f := newFF1(key.block, tweak, radix, len(plain))
	if got := numerals(f.encrypt(number(plain[:u]), number(plain[u:]))); got != cipher {
		t.Errorf("AES-%d, radix %d, tweak %x: %s is enciphered as %s, not %s", 8*keyBytes, radix, tweak, plain, got, cipher)
	}
	if got := numerals(f.decrypt(number(cipher[:u]), number(cipher[u:]))); got != plain {
		t.Errorf("AES-%d, radix %d, tweak %x: %s is deciphered as %s, not %s", 8*keyBytes, radix, tweak, cipher, got, plain)
	}
}

func unhex(t *testing.T, digits string) []byte {
	t.Helper()
	data, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// bitsOf writes the bits of each byte, the lowest first.
func bitsOf(t *testing.T, digits string) string {
	t.Helper()
	var text strings.Builder
	for _, c := range unhex(t, digits) {
		for i := range 8 {
			text.WriteByte('0' + c>>i&1)
		}
	}
	return text.String()
}
