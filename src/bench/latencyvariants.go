package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A latencyVariant is a transport with its settings, and what is sent over it.
type latencyVariant struct {
	work                string // "" if all variants do the same
	transport, settings string
	client, server      latencySide
	messagesPerSecond   float64 // 0: as many as possible
	needsIP             bool    // not only UDP of one client
	oneWay              bool    // nothing is lost on the way to the client
	serverMeasures      bool    // how long messages take to the server

	bottleneck *bottleneck       // nil: that of the comparison
	overhead   float64           // of bulk data: bytes on the link for each byte of payload; else 0
	rivals     []*latencyVariant // bulk data that shares the link
	later      time.Duration     // a rival connects so long after the one before it
}

// isBulk is whether the bytes that reach the server are measured, not round trips.
func (v *latencyVariant) isBulk() bool {
	return v.overhead > 0
}

// A latencySide is a program and its arguments.
type latencySide struct {
	program program
	args    []string
}

// name tells variants of the same work from each other.
func (v *latencyVariant) name() string {
	if v.settings == "" {
		return v.transport
	}
	return v.transport + ", " + v.settings
}

// fullName tells all variants from each other.
func (v *latencyVariant) fullName() string {
	if v.work == "" {
		return v.name()
	}
	return v.work + ": " + v.name()
}

// losses returns the fractions of packets that are lost on their way to the server and back.
func (v *latencyVariant) losses(loss float64) (up, down float64) {
	if v.oneWay {
		return loss, 0
	}
	return loss, loss
}

// latencyVariants returns all variants of compare-latency, in the order of the report.
func latencyVariants(p *programs, traffic *gameTraffic) []*latencyVariant {
	game := append(traffic.args(), "--mode=game")
	tcp, quic := latencySide{p.tcp, game}, latencySide{p.quic, game}
	all := []*latencyVariant{
		{transport: "TCP", client: tcp, server: tcp, needsIP: true},
		{transport: "QUIC", client: quic, server: quic},
	}
	side := func(program program, session []string) latencySide {
		sized := slices.ContainsFunc(session, func(s string) bool { return strings.HasPrefix(s, "--mtu=") })
		if !sized {
			session = append(session, mtuFlag(p.mtu))
		}
		return latencySide{program, slices.Concat(game, session, windows)}
	}
	add := func(program program, settings string, session ...string) {
		both := side(program, session)
		all = append(all, &latencyVariant{
			transport: program.name, settings: settings, client: both, server: both})
	}
	addToKCPGo := func(program program, settings string, client, server []string) {
		all = append(all, &latencyVariant{
			transport: program.name, settings: settings + ", to kcp-go, lost one way",
			client: side(program, client), server: side(p.kcpGo, server), oneWay: true})
	}
	add(p.kcpGo, "no FEC")
	add(p.kcpGo, "no FEC, ACK no delay", "--acknodelay")
	add(p.kcpGo, "FEC 10/3", "--datashard=10", "--parityshard=3")
	add(p.kcpGo, "FEC 3/2, MTU 500", "--datashard=3", "--parityshard=2", "--mtu=500")
	for _, kcp4j := range p.kcp4j {
		add(kcp4j, "no FEC, FAST_RETRANSMIT", "--loss-detection=count")
		add(kcp4j, "no FEC")
		add(kcp4j, "FEC 10/3", "--datashard=10", "--parityshard=3")
		add(kcp4j, "FEC 3/2, MTU 500", "--datashard=3", "--parityshard=2", "--mtu=500")
		add(kcp4j, "FEC adaptive", "--adaptive-fec=2")
		add(kcp4j, "FEC adaptive, up to 3", "--adaptive-fec=3")
		addToKCPGo(kcp4j, "no FEC", nil, nil)
		addToKCPGo(kcp4j, "FEC adaptive",
			[]string{"--adaptive-fec=2"}, []string{"--datashard=10", "--parityshard=3"})
	}
	for _, v := range all {
		v.messagesPerSecond = traffic.messagesPerSecond()
	}
	return all
}

// defaultMTU is that of kcp4j. kcp-go has it, too, in all comparisons.
const defaultMTU = 1200

func mtuFlag(mtu int) string {
	return fmt.Sprintf("--mtu=%d", mtu)
}

// windows are those of KCP sessions.
var windows = []string{"--sndwnd=1024", "--rcvwnd=1024"}
