package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
)

// Machine is what a process can learn of the place where it runs.
type Machine struct {
	Host       string     // the machine's or the container's name
	IP         netip.Addr // private, IPv4
	MAC        [6]byte    // of the first network card
	PID        int        // of the process
	Configured int64      // the worker id that a file or a variable gives to the process; zero also where nobody gave any
	File       int64      // the worker id in a file that came with the disk image; -1 if none did
}

// Fleet returns what a machine is like for its process-th process, in the run of
// a seed. Equal arguments give equal machines.
type Fleet func(seed uint64, node, process int) Machine

// Distinct is a fleet in which nothing is like anything else: addresses, names,
// process ids and configured worker ids differ, in their low bits too.
func Distinct(_ uint64, node, process int) Machine {
	low := byte(10 + node)
	return Machine{
		Host: fmt.Sprintf("id-%d.example", node),
		IP:   netip.AddrFrom4([4]byte{10, 0, 0, low}),
		MAC:  dockerMAC(10, 0, 0, low),
		// The kernel counts up; other programs of the machine are started in between.
		PID:        300 + 101*node + 7*process,
		Configured: int64(node),
		File:       -1,
	}
}

// dockerMAC is the address that Docker gives to a container by its IP.
func dockerMAC(a, b, c, d byte) [6]byte { return [6]byte{0x02, 0x42, a, b, c, d} }

// containers is a fleet of containers: the program is the first process in each.
func containers(seed uint64, node, process int) Machine {
	m := Distinct(seed, node, process)
	m.PID = 1
	return m
}

// subnets is a fleet in two subnets with the same low 16 bits, as two clusters of one plan have.
func subnets(seed uint64, node, process int) Machine {
	m := Distinct(seed, node, process)
	second, low := byte(1+node%2), byte(10+node/2)
	m.IP, m.MAC = netip.AddrFrom4([4]byte{10, second, 0, low}), dockerMAC(10, second, 0, low)
	return m
}

// template is a fleet of virtual machines made from one template, network card included, each
// behind a network of its own. Process ids are near each other but not equal.
func template(seed uint64, node, process int) Machine {
	m := Distinct(seed, node, process)
	m.MAC = [6]byte{0x52, 0x54, 0x00, 0x1e, 0x38, 0x09}
	return m
}

// unconfigured is a fleet in which nobody configured a worker id.
func unconfigured(seed uint64, node, process int) Machine {
	m := Distinct(seed, node, process)
	m.Configured = 0
	return m
}

// golden is a fleet made from a disk image that was taken of a machine on which
// the service had run: its file with the worker id is in the image.
func golden(seed uint64, node, process int) Machine {
	m := Distinct(seed, node, process)
	m.File = 0
	return m
}

// deployment is a fleet of pods of a deployment in which the worker id stands in
// the pod's template: the new pods have the numbers of those that they replace.
func deployment(seed uint64, node, process int) Machine {
	m := containers(seed, node, process)
	m.Configured = int64(node % 2)
	return m
}

// pods is a fleet in one network of 65,536 addresses. Names and addresses are drawn, no two equal.
func pods(seed uint64, node, process int) Machine {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	m := containers(seed, node, process)
	// All of the run's pods are drawn in turn, so that each knows the others'.
	rng := rand.New(rand.NewPCG(seed, 0xF1EE7))
	taken := make(map[uint16]bool)
	for range node + 1 {
		name := make([]byte, 5)
		for j := range name {
			name[j] = letters[rng.IntN(len(letters))]
		}
		address := uint16(rng.Uint32())
		for taken[address] {
			address++
		}
		taken[address] = true
		high, low := byte(address>>8), byte(address)
		m.Host = "id-7d4b9c6f58-" + string(name)
		m.IP, m.MAC = netip.AddrFrom4([4]byte{10, 244, high, low}), dockerMAC(10, 244, high, low)
	}
	return m
}
