// Command interop is kcp-go as a peer for kcp4j: the servers and clients of its interoperability
// tests.
package main

import "github.com/kcp4j/kcp4j/interop/cli"

func main() {
	cli.Main("interop",
		cli.NewCommand("echo-server", "send back what arrives (kcp-go sessions, stream)", echoServer),
		cli.NewCommand("echo-client", "send pseudo-random bytes and check their echo", echoClient),
		cli.NewCommand("oob-client", "send out-of-band packets and check their echo", oobClient),
		cli.NewCommand("sink", "count what arrives (one-way throughput, receiver)", sink),
		cli.NewCommand("source", "send as fast as possible (one-way throughput, sender)", source),
		cli.NewCommand("flood", "run sink and source as two processes on loopback", flood),
		cli.NewCommand("message-server", "send back messages (kcp-go's raw KCP, message mode)", messageServer),
		cli.NewCommand("message-client", "send messages of many sizes and check their echo", messageClient),
		cli.NewCommand("codecs", "measure kcp-go's ciphers and FEC", codecs),
		cli.NewCommand("compare-codecs", "the same for kcp4j, beside it, as a table", compareCodecs),
		cli.NewCommand("measured", "one side of a transfer, until standard input ends, for compare-load", measured),
		cli.NewCommand("compare-load", "whole transfers of kcp-go, kcp4j and others, in turn, as a table", compareLoad),
		cli.NewCommand("load", "hold thousands of sessions open over one socket (Linux)", load),
	)
}
