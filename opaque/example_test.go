package opaque_test

import (
	"fmt"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/opaque"
)

func Example() {
	keys, err := opaque.ParseKeys("b 2b7e151628aed2a6abf7158809cf4f3c") // the content of a file
	if err != nil {
		fmt.Println(err)
		return
	}
	sealed, err := opaque.NewSealed("orders", keys...)
	if err != nil {
		fmt.Println(err)
		return
	}
	orders, err := opaque.NewPrefixed("order", sealed)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := orders.Encode(1541815603606036480)
	fmt.Println(text, err)
	fmt.Println(orders.Decode(text))

	_, err = orders.Decode("order_b76JseD7RK5YAhUdxQorLhf")
	fmt.Println(err)
	// Output:
	// order_b76JseD7RK5YAhUdxQorLhe <nil>
	// 1541815603606036480 <nil>
	// snowfence: invalid id "b76JseD7RK5YAhUdxQorLhf": sealed: was not sealed with this key for this purpose
}

func ExampleNewSealed_rotation() {
	keys, err := opaque.ParseKeys(`
# since May
b 2b7e151628aed2a6abf7158809cf4f3c
# until May: only decodes
a 603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	both, err := opaque.NewSealed("orders", keys...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(both.Encode(7))
	fmt.Println(both.Decode("a6hEoVDluc684iBRUfKHkU3"))

	without, err := opaque.NewSealed("orders", keys[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = without.Decode("a6hEoVDluc684iBRUfKHkU3")
	fmt.Println(err)
	// Output:
	// bAQuf4YPTOUJ3Czsbam1pGH <nil>
	// 7 <nil>
	// snowfence: invalid id "a6hEoVDluc684iBRUfKHkU3": sealed: position 0: there is no key 'a'
}

func ExamplePermuted() {
	keys, err := opaque.ParseKeys("b 2b7e151628aed2a6abf7158809cf4f3c")
	if err != nil {
		fmt.Println(err)
		return
	}
	orders, err := opaque.NewPermuted("orders", keys[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	for id := snowfence.ID(1); id <= 3; id++ {
		fmt.Println(orders.Permute(id))
	}
	fmt.Println(orders.Decode("938678556533030283"))
	// Output:
	// 1834694097695153762 <nil>
	// 6538695588367847477 <nil>
	// 918480396355354890 <nil>
	// 1541815603606036480 <nil>
}

func ExampleChecked() {
	var checked opaque.Checked
	fmt.Println(checked.Encode(1541815603606036480))
	fmt.Println(checked.Decode("lasd-l3xh-lf8o-ob"))

	_, err := checked.Decode("1ASD13XH1F80B0") // two characters swapped
	fmt.Println(err)
	// Output:
	// 1ASD13XH1F800B <nil>
	// 1541815603606036480 <nil>
	// snowfence: invalid id "1ASD13XH1F80B0": checked: position 13: the check character does not fit the digits
}
