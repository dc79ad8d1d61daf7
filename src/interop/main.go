// Command interop is kcp-go as a peer for kcp4j: the servers and clients of its interoperability
// tests.
package main

import "github.com/kcp4j/kcp4j/interop/cli"

func main() {
	cli.Main("interop",
		cli.NewCommand("echo-server", "send back what arrives (kcp-go sessions, stream)", echoServer),
		cli.NewCommand("echo-client", "send pseudo-random bytes and check their echo", echoClient),
		cli.NewCommand("oob-client", "send out-of-band packets and check their echo", oobClient),
		cli.NewCommand("message-server",
			"send back messages (kcp-go's raw KCP, message mode)", messageServer),
		cli.NewCommand("message-client",
			"send messages of many sizes and check their echo", messageClient),
		cli.NewCommand("trace", "print what sessions write, in virtual time", trace),
	)
}
