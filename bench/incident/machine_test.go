package main

import "testing"

// TestFleetsDifferWhereTheySay holds each fleet to its incident's cause alone.
func TestFleetsDifferWhereTheySay(t *testing.T) {
	same := func(name string, fleet Fleet, a, b int, what func(Machine) any, want bool) {
		t.Helper()
		if got := what(fleet.machine(7, a, 1)) == what(fleet.machine(7, b, 1)); got != want {
			t.Errorf("%s: of machines %d and %d it is %t that they are equal, want %t", name, a, b, got, want)
		}
	}
	host := func(m Machine) any { return m.Host }
	ip := func(m Machine) any { return m.IP }
	low := func(m Machine) any { b := m.IP.As4(); return [2]byte(b[2:]) }
	mac := func(m Machine) any { return m.MAC }
	process := func(m Machine) any { return m.PID }
	number := func(m Machine) any { return m.Configured }
	file := func(m Machine) any { return m.File }

	for _, what := range []func(Machine) any{host, ip, low, mac, process, number} {
		same("distinct", Distinct, 0, 1, what, false)
	}
	same("containers", containers, 0, 1, process, true)
	same("containers", containers, 0, 1, ip, false)
	same("subnets", subnets, 0, 1, low, true)
	same("subnets", subnets, 0, 1, ip, false)
	same("subnets", subnets, 0, 2, low, false)
	same("template", template, 0, 3, mac, true)
	same("template", template, 0, 3, process, false)
	same("unconfigured", unconfigured, 0, 1, number, true)
	same("golden", golden, 0, 1, file, true)
	same("golden", golden, 0, 1, number, false)
	same("deployment", deployment, 0, 2, number, true)
	same("deployment", deployment, 0, 1, number, false)
	same("deployment", deployment, 0, 2, host, false)
	for node := range 40 {
		if Fleet(pods).machine(3, node, 1) != Fleet(pods).machine(3, node, 2) {
			t.Errorf("pod %d changes from process to process", node)
		}
		for other := range node {
			same("pods", pods, node, other, low, false)
			same("pods", pods, node, other, host, false)
		}
	}
	if Fleet(pods).machine(1, 0, 1) == Fleet(pods).machine(2, 0, 1) {
		t.Error("two seeds draw the same pods")
	}
}
