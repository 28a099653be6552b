package main

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
)

// Machine is a process's knowledge of the place where it runs.
type Machine struct {
	Host       string     // the machine's or the container's name
	IP         netip.Addr // private, IPv4
	MAC        [6]byte    // of the first network card
	PID        int        // of the process
	Configured int64      // the worker id that a file or a variable gives to the process; zero also where none was given
	File       int64      // the worker id in a file that came with the disk image; -1 if none did
}

// Fleet is how the machine of a node, in the run of a seed, differs from [Distinct]'s.
type Fleet func(m *Machine, seed uint64, node int)

// machine returns what a node's machine is like for its process-th process. Equal arguments
// give equal machines.
func (f Fleet) machine(seed uint64, node, process int) Machine {
	m := Machine{
		Host: fmt.Sprintf("id-%d.example", node),
		// The kernel counts up; other programs of the machine are started in between.
		PID:        300 + 101*node + 7*process,
		Configured: int64(node),
		File:       -1,
	}
	m.network(0, 0, byte(10+node))
	f(&m, seed, node)
	return m
}

// network gives the machine an address, and the card that Docker gives to a container of it.
func (m *Machine) network(b, c, d byte) {
	m.IP, m.MAC = netip.AddrFrom4([4]byte{10, b, c, d}), [6]byte{0x02, 0x42, 10, b, c, d}
}

// Distinct is a fleet in which nothing is like anything else: addresses, names,
// process ids and configured worker ids differ, in their low bits too.
func Distinct(*Machine, uint64, int) {}

// containers is a fleet of containers: the program is the first process in each.
func containers(m *Machine, _ uint64, _ int) { m.PID = 1 }

// subnets is a fleet in two subnets with the same low 16 bits, as two clusters of one plan have them.
func subnets(m *Machine, _ uint64, node int) { m.network(byte(1+node%2), 0, byte(10+node/2)) }

// template is a fleet of virtual machines made from one template, network card included, each
// behind a network of its own. Process ids are near each other but not equal.
func template(m *Machine, _ uint64, _ int) { m.MAC = [6]byte{0x52, 0x54, 0x00, 0x1e, 0x38, 0x09} }

// unconfigured is a fleet without configured worker ids.
func unconfigured(m *Machine, _ uint64, _ int) { m.Configured = 0 }

// golden is a fleet made from a disk image that was taken of a machine on which
// the service had run: its file with the worker id is in the image.
func golden(m *Machine, _ uint64, _ int) { m.File = 0 }

// deployment is a fleet of pods of a deployment in which the worker id stands in
// the pod's template: the new pods have the numbers of the replaced ones.
func deployment(m *Machine, _ uint64, node int) { m.PID, m.Configured = 1, int64(node%2) }

// pods is a fleet in one network of 65,536 addresses. Names and addresses are drawn, all different.
func pods(m *Machine, seed uint64, node int) {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	m.PID = 1
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
		m.Host = "id-7d4b9c6f58-" + string(name)
		m.network(244, byte(address>>8), byte(address))
	}
}
