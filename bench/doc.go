// Command bench measures Snowfence beside its peers, in one process and in
// interleaved rounds, because on a shared machine only ratios of one run mean
// anything. It prints every round, then the medians as ratios to the peer,
// with the ratio that is aimed at beside each.
//
// The peer that all speed is compared with is github.com/bwmarrin/snowflake
// with StepBits raised to 21, so that it never waits for a tick and its cost a
// call is what is measured. Snowfence runs with as many sequence bits.
//
//	GOWORK=off go run . -rounds 10            # what `make bench` does
//	GOWORK=off go run . -only speed,full      # some parts
package main
