package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
)

// What shares the link with what is measured. The names of works begin with it.
const (
	alone     = "alone"
	besideTCP = "beside TCP"
	besideBBR = "beside BBR"
	inGame    = "game"
)

// tcpOverhead is bytes on the link for each byte of payload: with the headers of IPv4, and of TCP with
// timestamps.
const tcpOverhead = 1500.0 / 1448

// kcpOverhead is the same with the headers of IPv4, UDP and KCP.
func kcpOverhead(mtu int) float64 {
	return float64(mtu+28) / float64(mtu-24)
}

// A bottleneck is the rate of a link, and the queue before it in bandwidth-delay products.
type bottleneck struct {
	megabits, bdps float64
}

func (b *bottleneck) String() string {
	return fmt.Sprintf("%v Mbit/s, queue of %v BDP", b.megabits, b.bdps)
}

func (b *bottleneck) bytesPerSecond() float64 {
	return b.megabits * 1e6 / 8
}

func (b *bottleneck) queueBytes(rtt time.Duration) int {
	return int(b.bytesPerSecond() * rtt.Seconds() * b.bdps)
}

// newBottlenecks returns one for each pair of the two lists.
func newBottlenecks(megabits, bdps string) ([]*bottleneck, error) {
	rates, err := parsePositive("--megabits", megabits)
	if err != nil {
		return nil, err
	}
	queues, err := parsePositive("--bdps", bdps)
	if err != nil {
		return nil, err
	}
	var all []*bottleneck
	for _, rate := range rates {
		for _, queue := range queues {
			all = append(all, &bottleneck{rate, queue})
		}
	}
	return all, nil
}

func parsePositive(name, list string) ([]float64, error) {
	var values []float64
	for _, s := range strings.Split(list, ",") {
		value, err := strconv.ParseFloat(s, 64)
		if err != nil || !(value > 0 && value <= 1e6) {
			return nil, cli.UsageErrorf("%s %q: expected numbers above 0", name, list)
		}
		values = append(values, value)
	}
	return values, nil
}

// congestionVariants returns all variants of compare-congestion, in the order of the report.
func congestionVariants(
	p *programs, traffic *gameTraffic, bottlenecks []*bottleneck,
) []*latencyVariant {
	var all []*latencyVariant
	for _, b := range bottlenecks {
		for _, v := range congestionVariantsAt(p, traffic) {
			v.bottleneck = b
			v.work += ", " + b.String()
			v.needsIP = v.needsIP || len(v.rivals) > 0
			all = append(all, v)
		}
	}
	return all
}

func congestionVariantsAt(p *programs, traffic *gameTraffic) []*latencyVariant {
	mtu := mtuFlag(p.mtu)
	wide := []string{"--sndwnd=4096", "--rcvwnd=4096", mtu}
	narrow := append([]string{mtu}, windows...)
	bbr := append([]string{"--congestion-control=bbr"}, wide...)
	kcp4j := p.kcp4j[0]
	tcp := func(work string) *latencyVariant {
		side := latencySide{p.tcp, []string{"--tcp-congestion-control=" + tcpCongestionControl}}
		return &latencyVariant{work: work, transport: "TCP", client: side, server: side,
			needsIP: true, overhead: tcpOverhead}
	}
	kcp := func(
		work, settings string, client, server program, options []string, rivals ...*latencyVariant,
	) *latencyVariant {
		serverOptions := options
		if client.name != server.name {
			settings, serverOptions = settings+", to "+server.name, wide
		}
		return &latencyVariant{work: work, transport: client.name, settings: settings,
			client: latencySide{client, options}, server: latencySide{server, serverOptions},
			overhead: kcpOverhead(p.mtu), rivals: rivals}
	}
	bulk := kcp(alone, "BBR", kcp4j, kcp4j, bbr)
	toKcpGo := kcp(alone, "BBR", kcp4j, p.kcpGo, bbr)
	toSlowKcpGo := *toKcpGo
	toSlowKcpGo.settings += ", interval 40"
	toSlowKcpGo.server.args = append([]string{"--interval=40"}, wide...)
	later := *bulk
	later.later = 10 * time.Second
	game := func(settings string, rivals ...*latencyVariant) *latencyVariant {
		side := latencySide{kcp4j, slices.Concat(traffic.args(), []string{"--mode=game"}, bbr)}
		return &latencyVariant{work: inGame, transport: kcp4j.name, settings: settings, client: side,
			server: side, rivals: rivals, messagesPerSecond: traffic.messagesPerSecond()}
	}
	return []*latencyVariant{
		tcp(alone),
		kcp(alone, noControl, p.kcpGo, p.kcpGo, narrow),
		kcp(alone, noControl, kcp4j, kcp4j, narrow),
		bulk,
		toKcpGo,
		&toSlowKcpGo,
		kcp(besideTCP, noControl, p.kcpGo, p.kcpGo, narrow, tcp("")),
		kcp(besideTCP, "BBR", kcp4j, kcp4j, bbr, tcp("")),
		kcp(besideBBR, "two", kcp4j, kcp4j, bbr, bulk),
		kcp(besideBBR, "two, one 10 s later", kcp4j, kcp4j, bbr, &later),
		kcp(besideBBR, "four", kcp4j, kcp4j, bbr, bulk, bulk, bulk),
		kcp(besideBBR, "four, one 10 s later", kcp4j, kcp4j, bbr, bulk, bulk, &later),
		game("BBR, alone"),
		game("BBR, beside bulk data with BBR", bulk),
	}
}

const (
	noControl            = "nc 1, window 1024"
	tcpCongestionControl = "cubic" // whatever the default of the machine is
)

// congestionColumns are those of compare-congestion.
func congestionColumns(work string) []latencyColumn {
	switch {
	case strings.HasPrefix(work, inGame):
		return []latencyColumn{
			worst("p50", percentileOf(50)), worst("p99", percentileOf(99)), worst("max", maxOf),
			least("bulk, % of the link", rivalShare), worst("queue mean, ms", waitMean)}
	case strings.HasPrefix(work, alone):
		return []latencyColumn{
			least("goodput, %", share), worst("sent, % of delivered", sentShare),
			worst("dropped, %", droppedShare), worst("queue mean, ms", waitMean),
			worst("queue p95, ms", waitP95)}
	case strings.HasPrefix(work, besideBBR):
		return []latencyColumn{
			least("Jain's index, %", fairness), least("least share, %", leastShare),
			worst("highest share, %", highestShare), worst("dropped, %", droppedShare),
			worst("queue mean, ms", waitMean), worst("queue p95, ms", waitP95)}
	}
	return []latencyColumn{
		least("share, %", share), worst("at most", share), least("the other's, %", rivalShare),
		worst("at most", rivalShare), worst("dropped, %", droppedShare),
		worst("queue mean, ms", waitMean)}
}

// share is what was delivered, with its headers, in percent of what the rate and the losses leave.
func share(run *latencyRun) float64 {
	return shareOf(run.variant, run.Delivered, run)
}

// rivalShare is the same of all rivals.
func rivalShare(run *latencyRun) (sum float64) {
	for _, share := range rivalShares(run) {
		sum += share
	}
	return sum
}

func rivalShares(run *latencyRun) (shares []float64) {
	for i, rival := range run.variant.rivals {
		shares = append(shares, shareOf(rival, run.RivalDelivered[i], run))
	}
	return shares
}

// shares are those of the measured session and of all rivals.
func shares(run *latencyRun) []float64 {
	return append(rivalShares(run), share(run))
}

func leastShare(run *latencyRun) float64 { return slices.Min(shares(run)) }

func highestShare(run *latencyRun) float64 { return slices.Max(shares(run)) }

// fairness is Jain's index of the shares in percent: 100 if they are equal.
func fairness(run *latencyRun) float64 {
	var sum, squares float64
	shares := shares(run)
	for _, share := range shares {
		sum += share
		squares += share * share
	}
	return 100 * sum * sum / (float64(len(shares)) * squares)
}

func shareOf(v *latencyVariant, delivered float64, run *latencyRun) float64 {
	return 100 * delivered * v.overhead / (run.Rate * (1 - run.Loss/100))
}

// sentShare is what the client has sent, in percent of what was delivered, with headers.
func sentShare(run *latencyRun) float64 {
	sent := float64(run.Up.Bytes) / run.Time.Seconds()
	return 100 * sent / (run.Delivered * run.variant.overhead)
}

func droppedShare(run *latencyRun) float64 {
	return 100 * float64(run.Up.Dropped) / float64(max(run.Up.Packets, 1))
}

func waitMean(run *latencyRun) float64 { return milliseconds(run.WaitMean) }

func waitP95(run *latencyRun) float64 { return milliseconds(run.WaitP95) }
