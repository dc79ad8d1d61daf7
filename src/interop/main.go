// Command interop is kcp-go and smux as peers for kcp4j: the servers and clients of its
// interoperability tests.
package main

import (
	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/tunnel"
)

func main() {
	cli.Main("interop",
		cli.NewCommand("echo-server", "send back what arrives (kcp-go sessions, stream)", echoServer),
		cli.NewCommand("echo-client", "send pseudo-random bytes and check their echo", echoClient),
		cli.NewCommand("oob-client", "send out-of-band packets and check their echo", oobClient),
		cli.NewCommand("message-server",
			"send back messages (kcp-go's raw KCP, message mode)", messageServer),
		cli.NewCommand("message-client",
			"send messages of many sizes and check their echo", messageClient),
		cli.NewCommand("smux-server", "send back what arrives in each stream of smux", smuxServer),
		cli.NewCommand("smux-client", "open many streams of smux and check their echo", smuxClient),
		cli.NewCommand("smux-writer-server",
			"write to each stream of smux, and count writers that are blocked", smuxWriterServer),
		cli.NewCommand("smux-writer-client",
			"open streams of smux, write to them, and count writers that are blocked", smuxWriterClient),
		cli.NewCommand("tunnel-server", "what kcptun's server does", tunnel.Server),
		cli.NewCommand("tunnel-client", "what kcptun's client does", tunnel.Client),
		cli.NewCommand("trace", "print what sessions write, in virtual time", trace),
	)
}
