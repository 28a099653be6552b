package plan

import (
	"testing"
)

func TestQuantitiesReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]float64{
		"1024": 1024, "10k": 1e4, "4M": 4e6, "1.5G": 1.5e9, "2T": 2e12, "1e6": 1e6, "0.5": 0.5, "4611686018427387904": 1 << 62,
	} {
		if got, err := ParseQuantity(text); err != nil || got != want {
			t.Errorf("ParseQuantity(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestQuantitiesThatAreNoneAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "k", "0", "0k", "-1", "-4M", "NaN", "Inf", "0x10", "4MM", "4 M", "1,024", "2^20", "64Ki", "4M/s", "1e99", "1e999", "4m",
	} {
		if got, err := ParseQuantity(text); err == nil {
			t.Errorf("ParseQuantity(%q) = %v, want an error", text, got)
		}
	}
	if got, err := ParseCount("1.5"); err == nil {
		t.Errorf("ParseCount(1.5) = %v, want an error", got)
	}
	if got, err := ParseCount("1.5k"); err != nil || got != 1500 {
		t.Errorf("ParseCount(1.5k) = %v, %v", got, err)
	}
}

func FuzzParseQuantity(f *testing.F) {
	for _, s := range []string{"4M", "1.5k", "1e6"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseQuantity(s); err == nil && !(v > 0 && v <= 1<<62) {
			t.Errorf("ParseQuantity(%q) = %v, outside its promise", s, v)
		}
	})
}

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for value, want := range map[float64]string{
		0.25: "0.25", 4: "4", 9.9999: "10", 4096: "4,096", 3906.25: "3,906", 4_096_000: "4,096,000",
		4_194_304_000: "4.19G", 65_536_000: "65.5M", 68_719_476_736_000: "68.7T", 999_999_999: "1000M", 123_456_789: "123M",
	} {
		if got := Quantity(value); got != want {
			t.Errorf("Quantity(%v) = %q, want %q", value, got, want)
		}
	}
	for value, want := range map[float64]string{4.3553: "4.36", 69: "69", 69.684: "69.7", 17432.1: "17,432"} {
		if got := Years(value); got != want {
			t.Errorf("Years(%v) = %q, want %q", value, got, want)
		}
	}
}
