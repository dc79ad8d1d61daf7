package main

import (
	"encoding/binary"
	"testing"
)

// The segments of each datagram of a forged session end where it ends, and a server takes its size.
func TestForgedSessionsAreWellFormed(t *testing.T) {
	for kind, attack := range memoryAttacks {
		for i := range attack.datagrams {
			d := datagram{conv: 77}
			attack.write(&d, i)
			if len(d.bytes) > 1500 {
				t.Errorf("%s: datagram %d has %d bytes", kind, i, len(d.bytes))
			}
			rest := d.bytes
			for len(rest) >= headerBytes && binary.LittleEndian.Uint32(rest) == 77 {
				rest = rest[headerBytes+int(binary.LittleEndian.Uint32(rest[20:])):]
			}
			if len(rest) > 0 {
				t.Errorf("%s: datagram %d has %d bytes behind its segments", kind, i, len(rest))
			}
		}
	}
}
