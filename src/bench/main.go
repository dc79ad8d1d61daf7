// Command bench measures kcp4j beside kcp-go and other transports.
package main

import (
	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/tunnel"
)

func main() {
	cli.Main("bench",
		cli.NewCommand("compare-load",
			"whole transfers of kcp-go, kcp4j and others, in turn, as a table", compareLoad),
		cli.NewCommand("compare-latency",
			"a game's round trips over an emulated link, of all transports, as a table", compareLatency),
		cli.NewCommand("compare-lanes",
			"delays of a game's messages on lanes and on a stream of kcp4j, as a table", compareLanes),
		cli.NewCommand("compare-rpc",
			"calls of gRPC by TCP and kcp4j over an emulated link, as a table", compareRPC),
		cli.NewCommand("compare-congestion",
			"bulk data of TCP, kcp-go and kcp4j over a link with a queue, as a table", compareCongestion),
		cli.NewCommand("compare-recovery",
			"how kcp4j, kcp-go, TCP and QUIC recover from outages, stops and loss, as tables",
			compareRecovery),
		cli.NewCommand("compare-tunnel",
			"tunnels of kcp-go and kcp4j for TCP connections, in turn, as a table", compareTunnel),
		cli.NewCommand("on-link", "run a command whose processes an emulated link connects (Linux)", onLink),
		cli.NewCommand("measured", "one side of a transfer, for comparisons", measured),
		cli.NewCommand("compare-codecs",
			"ciphers and FEC of kcp-go and kcp4j, in turn, as a table", compareCodecs),
		cli.NewCommand("codecs", "ciphers and FEC of kcp-go, for compare-codecs", codecs),
		cli.NewCommand("attack",
			"a flood from forged addresses, and what honest peers of kcp4j notice (Linux)", attack),
		cli.NewCommand("attack-memory",
			"attacks on the memory of a server of kcp4j, and what an honest session notices (Linux)",
			attackMemory),
		cli.NewCommand("attack-sender", "the flood alone, for attack and attack-memory", attackSender),
		cli.NewCommand("load", "hold thousands of sessions open over one socket (Linux)", load),
		cli.NewCommand("tunnel-server", "what kcptun's server does, for compare-tunnel", tunnel.Server),
		cli.NewCommand("tunnel-client", "what kcptun's client does, for compare-tunnel", tunnel.Client),
		cli.NewCommand("sink", "count what arrives (one-way throughput, receiver)", sink),
		cli.NewCommand("source", "send as fast as possible (one-way throughput, sender)", source),
		cli.NewCommand("flood", "run sink and source as two processes on loopback", flood),
	)
}
