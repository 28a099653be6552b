package main

import (
	"net/netip"
)

// Machine is a process's knowledge of the place where it runs.
type Machine struct {
	IP         netip.Addr // private, IPv4
	MAC        [6]byte    // of the first network card
	PID        int        // of the process
	Configured int64      // the worker id that a file or a variable gives to the process; zero also where none was given
	File       int64      // the worker id in a file that came with the disk image; -1 if none did
}

// Fleet is how the machine of a node differs from [Distinct]'s.
type Fleet func(m *Machine, node int)

// machine returns what a node's machine is like for its process-th process. Equal arguments
// give equal machines.
func (f Fleet) machine(node, process int) Machine {
	m := Machine{
		// The kernel counts up; other programs of the machine are started in between.
		PID:        300 + 101*node + 7*process,
		Configured: int64(node),
		File:       -1,
	}
	m.network(0, 0, byte(10+node))
	f(&m, node)
	return m
}

// network gives the machine an address, and the card that Docker gives to a container of it.
func (m *Machine) network(b, c, d byte) {
	m.IP, m.MAC = netip.AddrFrom4([4]byte{10, b, c, d}), [6]byte{0x02, 0x42, 10, b, c, d}
}

// Distinct is a fleet in which nothing is like anything else: addresses, process ids and configured worker ids differ, in their low bits too.
func Distinct(*Machine, int) {}

// containers is a fleet of containers: the program is the first process in each.
func containers(m *Machine, _ int) { m.PID = 1 }

// subnets is a fleet in two subnets with the same low 16 bits, as two clusters of one plan have them.
func subnets(m *Machine, node int) { m.network(byte(1+node%2), 0, byte(10+node/2)) }

// template is a fleet of virtual machines made from one template, network card included, each
// behind a network of its own. Process ids are near each other but not equal.
func template(m *Machine, _ int) { m.MAC = [6]byte{0x52, 0x54, 0x00, 0x1e, 0x38, 0x09} }

// unconfigured is a fleet without configured worker ids.
func unconfigured(m *Machine, _ int) { m.Configured = 0 }

// golden is a fleet made from a disk image that was taken of a machine on which
// the service had run: its file with the worker id is in the image.
func golden(m *Machine, _ int) { m.File = 0 }

// deployment is a fleet of pods of a deployment in which the worker id stands in
// the pod's template: the new pods have the numbers of the replaced ones.
func deployment(m *Machine, node int) { m.PID, m.Configured = 1, int64(node%2) }
