package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
)

// The kinds of rows.
const (
	outageRows = "outages" // the link loses everything for a time
	stopRows   = "stops"   // the process of the server is stopped
	slowRows   = "slow"    // small uploads over slow, long links
	uploadRows = "upload"  // large uploads over a fast link
	bidiRows   = "bidi"    // a bidirectional call of gRPC with loss
	largeRows  = "large"   // a large call of gRPC after many small ones
)

var allRows = []string{outageRows, stopRows, slowRows, uploadRows, bidiRows, largeRows}

// A recoveryCase is what a run measures, with the columns of the table that it fills.
type recoveryCase struct {
	rows, table, peers string
	columns            []string
	client, server     latencySide
	path               link.Config // of both directions, but for the seed
	needsIP            bool        // not only UDP of one client
	measure            func(context.Context, *recoverySession) ([]recoveryFigure, error)
}

func (r *recoveryCase) name() string {
	return fmt.Sprintf("%s: %s, %s: %s", r.rows, r.table, r.columns[0], r.peers)
}

// defaultPath is that of the rows which name no other.
var defaultPath = link.Config{Delay: 20 * time.Millisecond}

// A recoveryPeer is a client and a server with their options.
type recoveryPeer struct {
	name           string
	client, server latencySide
	needsIP        bool
}

// with returns both sides with more arguments.
func (p *recoveryPeer) with(args ...string) (client, server latencySide) {
	return p.client.with(args), p.server.with(args)
}

func (s latencySide) with(args []string) latencySide {
	return latencySide{s.program, slices.Concat(s.args, args)}
}

// recoveryPeers are those that exchange numbered bytes.
type recoveryPeers struct {
	kcp4j, kcp4jToKcpGo, kcpGoToKcp4j, kcpGo, tcp, quic *recoveryPeer
}

// newRecoveryPeers gives kcp4j its default options, and kcp-go those of kcp4j that it has.
func newRecoveryPeers(p *programs) *recoveryPeers {
	kcp4j := latencySide{p.kcp4j[0], []string{"--defaults"}}
	kcpGo := latencySide{program{"kcp-go", []string{os.Args[0], "measured"}, kcpOfGo}, nil}
	tcp, quic := latencySide{program: p.tcp}, latencySide{program: p.quic}
	return &recoveryPeers{
		kcp4j:        &recoveryPeer{name: "kcp4j", client: kcp4j, server: kcp4j},
		kcp4jToKcpGo: &recoveryPeer{name: "kcp4j to kcp-go", client: kcp4j, server: kcpGo},
		kcpGoToKcp4j: &recoveryPeer{name: "kcp-go to kcp4j", client: kcpGo, server: kcp4j},
		kcpGo:        &recoveryPeer{name: "kcp-go", client: kcpGo, server: kcpGo},
		tcp:          &recoveryPeer{name: "TCP", client: tcp, server: tcp, needsIP: true},
		quic:         &recoveryPeer{name: "QUIC", client: quic, server: quic},
	}
}

func (p *recoveryPeers) all() []*recoveryPeer {
	return []*recoveryPeer{p.kcp4j, p.kcp4jToKcpGo, p.kcpGoToKcp4j, p.kcpGo, p.tcp, p.quic}
}

// same are those with the same program on both sides.
func (p *recoveryPeers) same() []*recoveryPeer {
	return []*recoveryPeer{p.kcp4j, p.kcpGo, p.tcp, p.quic}
}

// withCongestionControl returns TCP with another one than the default of the machine.
func (p *recoveryPeers) withCongestionControl(name string) *recoveryPeer {
	tcp := *p.tcp
	tcp.name = "TCP, " + name
	tcp.client, tcp.server = tcp.with("--tcp-congestion-control=" + name)
	return &tcp
}

// allCases are in the order of the report.
func (c *recoveryComparison) allCases() []*recoveryCase {
	p := newRecoveryPeers(newPrograms(c.jvms, c.classPath, c.mtu))
	return slices.Concat(c.outageCases(p), c.stopCases(p), c.slowCases(p), c.uploadCases(p),
		c.bidiCases(), c.largeCases())
}

// A recoveryTraffic is what is sent during an interruption.
type recoveryTraffic struct {
	name string
	args []string
	at   receiver
	rate float64 // of the link, in bytes per second; 0: unlimited
}

var (
	oneRequest = &recoveryTraffic{
		"one request at a time", []string{"--mode=requests", "--pause=50"}, atClient, 0}
	manyWrites = &recoveryTraffic{
		"500 writes/s", []string{"--mode=writes", "--tick-hz=500"}, atClient, 0}
	// Full windows of KCP stay below the rate. TCP would fill a core without one.
	bulkOneWay = &recoveryTraffic{"bulk", []string{"--mode=upload"}, atServer, megabits(100)}
)

func megabits(rate float64) float64 { return rate * 1e6 / 8 }

func (c *recoveryComparison) outageCases(p *recoveryPeers) []*recoveryCase {
	var all []*recoveryCase
	for _, traffic := range []*recoveryTraffic{oneRequest, manyWrites, bulkOneWay} {
		for _, direction := range []struct {
			name string
			link.Direction
		}{
			{"both ways", link.BothWays}, {"to the server", link.Up}, {"from the server", link.Down},
		} {
			table := fmt.Sprintf("%s %s, %s: ms to the first data",
				outageTitle, direction.name, traffic.name)
			for _, length := range c.outages {
				for _, peer := range p.all() {
					all = append(all, traffic.interrupted(
						outageRows, table, peer, length, outageOf(direction.Direction)))
				}
			}
		}
	}
	return all
}

func (t *recoveryTraffic) interrupted(
	rows, table string, peer *recoveryPeer, length time.Duration, pause interruption,
) *recoveryCase {
	column := length.String()
	r := &recoveryCase{rows: rows, table: table, peers: peer.name, columns: []string{column},
		path: defaultPath, needsIP: peer.needsIP,
		measure: measureFirstData(column, length, pause, t.at)}
	r.path.Rate = t.rate
	r.path.QueueBytes = int(t.rate * (2 * r.path.Delay).Seconds())
	r.client, r.server = peer.with(t.args...)
	return r
}

// longStop is shorter than any timeout of a session.
const longStop = 12 * time.Second

func (c *recoveryComparison) stopCases(p *recoveryPeers) []*recoveryCase {
	var all []*recoveryCase
	path := defaultPath
	path.Loss = 0.02
	add := func(table, peers string, needsIP bool, client, server latencySide,
		take func(*measuredProcess) (*roundTrips, error)) {
		all = append(all, &recoveryCase{rows: stopRows, table: table, peers: peers,
			columns: stopsColumns, client: client, server: server, path: path, needsIP: needsIP,
			measure: measureStops(take)})
	}
	const table = "Five stops of the server of 300 ms, "
	for _, peer := range p.same() {
		client, server := peer.with("--mode=requests", "--in-flight=256", "--message-bytes=100")
		add(table+"256 messages in flight", peer.name, peer.needsIP, client, server, takeLogged)
	}
	for _, peer := range c.rpcPeers("--mode=bidi") {
		add(table+"gRPC", peer.name, peer.needsIP, peer.client, peer.server, takeCalls)
	}
	for _, peer := range p.same() {
		all = append(all, oneRequest.interrupted(stopRows,
			"Stop of the server, one request at a time: ms to the first data",
			peer, longStop, stopOfServer))
	}
	return all
}

// rpcPeers have gRPC over kcp4j, with default options and without congestion control, and over TCP.
func (c *recoveryComparison) rpcPeers(args ...string) []*recoveryPeer {
	peer := func(name, transport string, options ...string) *recoveryPeer {
		jvm := c.jvms[0]
		command := slices.Concat(jvm.command, []string{"-cp", c.classPath, rpcClass})
		side := latencySide{program{name: jvm.name, command: command},
			slices.Concat([]string{"--transport=" + transport}, args, options)}
		return &recoveryPeer{name, side, side, transport == "tcp"}
	}
	return []*recoveryPeer{
		peer("kcp4j", "kcp", "--defaults"),
		peer("kcp4j, no congestion control", "kcp", windows...),
		peer("TCP", "tcp"),
	}
}

// The small uploads and their links.
const slowUploadBytes = 160_000

var (
	slowKilobits = []float64{64, 128, 512}
	slowRTTs     = []time.Duration{500 * time.Millisecond, 800 * time.Millisecond, 2 * time.Second}
)

// slowCases have a queue without limit: every copy of data that the client sends is needless.
func (c *recoveryComparison) slowCases(p *recoveryPeers) []*recoveryCase {
	var all []*recoveryCase
	rates, rtts := slowKilobits, slowRTTs
	if c.short {
		rates, rtts = rates[1:2], rtts[:1]
	}
	for _, rate := range rates {
		for _, rtt := range rtts {
			for _, peer := range p.same() {
				u := &upload{bytes: slowUploadBytes,
					timeColumn: fmt.Sprintf("RTT %v: s", rtt),
					sentColumn: fmt.Sprintf("RTT %v: sent / payload", rtt)}
				all = append(all, u.over(slowRows,
					fmt.Sprintf("Upload of %d kB at %v kbit/s", slowUploadBytes/1000, rate), peer,
					link.Config{Delay: rtt / 2, Rate: megabits(rate / 1000)}))
			}
		}
	}
	return all
}

func (u *upload) over(rows, table string, peer *recoveryPeer, path link.Config) *recoveryCase {
	client, server := peer.with("--mode=upload", fmt.Sprintf("--upload-bytes=%d", u.bytes),
		fmt.Sprintf("--warm-up-bytes=%d", u.warmUpBytes))
	return &recoveryCase{rows: rows, table: table, peers: peer.name, columns: u.columns(),
		client: client, server: server, path: path, needsIP: peer.needsIP, measure: u.measure}
}

// The large upload and its links, which have a queue of a bandwidth-delay product.
const largeUploadBytes = 40_000_000

var (
	uploadRTTs = []time.Duration{
		20 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond}
	uploadLosses = []float64{0, 0.01}
)

// uploadCases have an upload before the measured one where a JVM has to compile what it runs.
func (c *recoveryComparison) uploadCases(p *recoveryPeers) []*recoveryCase {
	wide := *p.kcp4j
	wide.name = "kcp4j, BBR, windows of 4096"
	options := []string{"--congestion-control=bbr", "--sndwnd=4096", "--rcvwnd=4096"}
	wide.client = latencySide{wide.client.program, options}
	wide.server = latencySide{wide.server.program, options}
	peers := []*recoveryPeer{
		p.kcp4j, &wide, p.kcpGo, p.withCongestionControl("cubic"), p.quic}
	if kernelHas("bbr") {
		peers = append(peers, p.withCongestionControl("bbr"))
	}
	losses, rtts := uploadLosses, uploadRTTs
	if c.short {
		rtts = rtts[:2]
	}
	var all []*recoveryCase
	for _, loss := range losses {
		for _, rtt := range rtts {
			path := link.Config{Delay: rtt / 2, Loss: loss, Rate: megabits(100)}
			path.QueueBytes = int(path.Rate * rtt.Seconds())
			for _, peer := range peers {
				u := &upload{bytes: largeUploadBytes, timeColumn: fmt.Sprintf("RTT %v", rtt)}
				if peer.client.program.protocol == kcpOfJava {
					u.warmUpBytes = largeUploadBytes / 2
				}
				table := fmt.Sprintf("Upload of %d MB at 100 Mbit/s, %v %% loss: s",
					largeUploadBytes/1_000_000, 100*loss)
				all = append(all, u.over(uploadRows, table, peer, path))
			}
		}
	}
	return all
}

// kernelHas is whether TCP can have this congestion control.
func kernelHas(congestionControl string) bool {
	names, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	return slices.Contains(strings.Fields(string(names)), congestionControl)
}

// The links of bidirectional calls.
var (
	bidiRTTs   = []time.Duration{20 * time.Millisecond, 80 * time.Millisecond}
	bidiLosses = []float64{0.005, 0.02, 0.05}
)

// streamPeers are those of rpcPeers, and kcp4j with adaptive FEC, which --defaults would switch off.
func (c *recoveryComparison) streamPeers(warmUp string) []*recoveryPeer {
	args := []string{"--mode=bidi_first_second", warmUp}
	protected := c.rpcPeers(append(args, "--adaptive-fec=2")...)[1]
	protected.name += ", adaptive FEC"
	return slices.Insert(c.rpcPeers(args...), 2, protected)
}

func (c *recoveryComparison) bidiCases() []*recoveryCase {
	losses := bidiLosses
	if c.short {
		losses = losses[1:2]
	}
	warmUp := fmt.Sprintf("--warm-up=%.0f", c.warmUp.Seconds())
	var all []*recoveryCase
	for _, rtt := range bidiRTTs {
		for _, loss := range losses {
			table := fmt.Sprintf("gRPC, 256 messages in flight, RTT %v, %v %% loss", rtt, 100*loss)
			for _, peer := range c.streamPeers(warmUp) {
				all = append(all, &recoveryCase{rows: bidiRows, table: table, peers: peer.name,
					columns: bidiColumns, client: peer.client, server: peer.server,
					path: link.Config{Delay: rtt / 2, Loss: loss}, needsIP: peer.needsIP,
					measure: measureBidi})
			}
		}
	}
	return all
}

func (c *recoveryComparison) largeCases() []*recoveryCase {
	path := defaultPath
	path.Rate = megabits(100)
	path.QueueBytes = int(path.Rate * (2 * path.Delay).Seconds())
	var all []*recoveryCase
	for _, peer := range c.rpcPeers("--mode=large") {
		all = append(all, &recoveryCase{rows: largeRows,
			table: "gRPC, echo of 10 MiB at 100 Mbit/s", peers: peer.name, columns: largeColumns,
			client: peer.client, server: peer.server, path: path, needsIP: peer.needsIP,
			measure: measureLarge})
	}
	return all
}
