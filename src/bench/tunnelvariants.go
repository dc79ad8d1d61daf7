package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/kcp4j/kcp4j/interop/cli"
)

// A tunnelVariant is a tunnel, and how many TCP connections use it.
type tunnelVariant struct {
	compression    string
	connections    int
	client, server program
	options        []string // of both ends
}

func (v *tunnelVariant) work() string {
	if v.connections == 1 {
		return v.compression + ", 1 connection"
	}
	return fmt.Sprintf("%s, %d connections", v.compression, v.connections)
}

// ends names client and server.
func (v *tunnelVariant) ends() string {
	if v.client.name == v.server.name {
		return v.client.name
	}
	return v.client.name + " to " + v.server.name
}

func (v *tunnelVariant) name() string {
	return v.work() + ": " + v.ends()
}

// isCompiled tells that neither end needs a warm-up for its compiler.
func (v *tunnelVariant) isCompiled() bool {
	return v.client.protocol == kcpOfGo && v.server.protocol == kcpOfGo
}

// Whether the tunnel compresses. The names are those of the report.
const (
	notCompressed = "nocomp"
	compressed    = "snappy"
)

func checkCompressions(names []string) error {
	for _, name := range names {
		if name != notCompressed && name != compressed {
			return cli.UsageErrorf("--compression %q: expected %s or %s",
				name, notCompressed, compressed)
		}
	}
	return nil
}

// tunnelVariants returns all variants, in the order of the report.
func tunnelVariants(
	jvms jvms, jar string, compressions []string, connections []int, options []string,
) []*tunnelVariant {
	kcpGo := program{reference, []string{os.Args[0]}, kcpOfGo}
	both := [][2]program{{kcpGo, kcpGo}}
	for _, jvm := range jvms {
		kcp4j := program{jvm.name, slices.Concat(jvm.command, []string{"-jar", jar}), kcpOfJava}
		both = append(both, [2]program{kcp4j, kcp4j})
	}
	kcp4j := both[1][0]
	both = append(both, [2]program{kcp4j, kcpGo}, [2]program{kcpGo, kcp4j})

	var all []*tunnelVariant
	for _, compression := range compressions {
		options := slices.Clone(options)
		if compression == notCompressed {
			options = append(options, "--nocomp")
		}
		for _, count := range connections {
			for _, ends := range both {
				all = append(all, &tunnelVariant{compression, count, ends[0], ends[1], options})
			}
		}
	}
	return all
}
