package merge_test

import (
	"fmt"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
)

func ExamplePredict() {
	sides, err := merge.ParseSides([]string{"eu=layout:twitter#0-3", "us=layout:twitter#4-7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	eu := merge.ForeignIssuer(sides[0].Name, sides[0].Layouts[0], now)
	us := merge.ForeignIssuer(sides[1].Name, sides[1].Layouts[0], now)
	f := merge.Predict(eu, us)
	fmt.Println(f.Possible())
	fmt.Println(f.Why)
	// Output:
	// false
	// they have one layout and epoch, no worker id in common (eu: 0-3; us: 4-7), and every id carries its worker id
}
