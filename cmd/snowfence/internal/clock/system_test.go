//go:build !faultclock

package clock

import (
	"testing"
	"time"
)

func TestVariableMeansNothingWithoutTheTag(t *testing.T) {
	c, err := Process(func(string) string {
		t.Error("the environment was asked")
		return "/nowhere"
	})
	if err != nil {
		t.Fatal(err)
	}
	if off := time.Until(c.Wall()).Abs(); off > time.Minute {
		t.Errorf("wall is %v off the machine's", off)
	}
}
