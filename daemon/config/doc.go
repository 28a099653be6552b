// Package config is the program's configuration: the settings, the origin of each value, and the rules
// between settings.
//
// A setting is a key and a text, from one of four places. Each place overrides
// the ones after it: a flag of serve, an environment variable, the YAML file,
// the default. The tags of [Config] and [Generator] have every key once, with its
// default, its limits and its help; one walk over them serves each place, the flags' help, the printed
// configuration and the page of the documentation:
//
//	generators.orders.claim-wait             the key, nested in the YAML file
//	SNOWFENCE_GENERATORS_ORDERS_CLAIM_WAIT   its environment variable
//	--http                                   the flag, for keys that have one
//
// The name of a variable is the key in capitals, with each dot and hyphen an
// underscore, after SNOWFENCE_. Names of generators can't have underscores, so the way back is
// unambiguous.
//
// The package promises that nothing is ignored in silence: an unknown key, a key
// that occurs twice, a value out of its range or two settings that contradict
// each other is an [Error] that names the key, the value, the limit and the
// place, with line and column for the file. An unknown variable only causes a warning, since other
// programs set variables, too. Errors and [Config.Values] leave the passwords of stores' URLs out.
//
// The package reads the configuration file and nothing else: the environment is
// handed in, and so is the check of stores' URLs by their engines, which this
// package does not link.
package config
