package main

import (
	"flag"
	"fmt"
	"slices"

	"github.com/kcp4j/kcp4j/interop/cli"
)

// rpcClass is what runs servers and clients of gRPC.
const rpcClass = "io.kcp4j.load.RpcLoad"

// What a client of gRPC does.
const (
	unary = "unary" // calls at a constant rate, none of which waits for another
	bidi  = "bidi"  // messages of one call, as fast as their echoes allow
)

// rpcTraffic is what clients of gRPC send.
type rpcTraffic struct {
	rate, messageBytes, inFlight int
}

func (t *rpcTraffic) flags(flags *flag.FlagSet) {
	flags.IntVar(&t.rate, "call-rate", 200, "unary `calls` per second")
	flags.IntVar(&t.messageBytes, "message-bytes", 100, "`size` of requests, responses and messages")
	flags.IntVar(&t.inFlight, "in-flight", 256,
		"`messages` of a bidirectional call that may be without an echo")
}

func (t *rpcTraffic) check() error {
	if t.rate < 1 || t.messageBytes < 1 || t.inFlight < 1 {
		return cli.UsageErrorf("--call-rate %d, --message-bytes %d, --in-flight %d: too small",
			t.rate, t.messageBytes, t.inFlight)
	}
	return nil
}

func (t *rpcTraffic) args() []string {
	return []string{fmt.Sprintf("--call-rate=%d", t.rate),
		fmt.Sprintf("--message-bytes=%d", t.messageBytes), fmt.Sprintf("--in-flight=%d", t.inFlight)}
}

func (t *rpcTraffic) String() string {
	return fmt.Sprintf("gRPC, %d bytes each way: %d unary calls/s; "+
		"one bidirectional call with %d messages in flight", t.messageBytes, t.rate, t.inFlight)
}

// rpcVariants returns all variants of compare-rpc, in the order of the report.
func rpcVariants(jvms jvms, classPath string, mtu int, traffic *rpcTraffic) []*latencyVariant {
	var all []*latencyVariant
	for _, work := range []string{unary, bidi} {
		add := func(jvm jvm, transport, settings string, v latencyVariant, session ...string) {
			command := slices.Concat(jvm.command, []string{"-cp", classPath, rpcClass})
			args := slices.Concat([]string{"--transport=" + transport, "--mode=" + work},
				traffic.args(), session)
			side := latencySide{program{name: jvm.name, command: command}, args}
			v.work, v.settings, v.client, v.server = work, settings, side, side
			if work == unary {
				v.messagesPerSecond = float64(traffic.rate)
			}
			all = append(all, &v)
		}
		add(jvms[0], "tcp", "", latencyVariant{transport: "TCP", needsIP: true})
		for _, jvm := range jvms {
			kcp := latencyVariant{transport: jvm.name}
			session := append([]string{mtuFlag(mtu)}, windows...)
			add(jvm, "kcp", "no FEC", kcp, session...)
			add(jvm, "kcp", "FEC adaptive", kcp, append([]string{"--adaptive-fec=2"}, session...)...)
		}
	}
	return all
}

// rpcColumns are those of compare-rpc.
func rpcColumns(work string) []latencyColumn {
	columns := []latencyColumn{
		worst("p50", percentileOf(50)), worst("p99", percentileOf(99)), worst("max", maxOf)}
	if work == bidi {
		perSecond := func(run *latencyRun) float64 { return float64(run.Echoes.Messages) / run.Time.Seconds() }
		columns = append([]latencyColumn{least("messages/s", perSecond)}, columns...)
	}
	return columns
}
