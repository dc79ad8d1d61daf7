package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
)

// lateAfter is how long a message may take that is not late.
const lateAfter = 20 * time.Millisecond

// checkEntities is the check of traffic one way, whose messages have a time and a tick.
func checkEntities(t *gameTraffic) error {
	if t.messageBytes < 12 {
		return cli.UsageErrorf("--message-bytes %d: expected 12 or more", t.messageBytes)
	}
	return t.check()
}

func lanesTraffic(t *gameTraffic) string {
	return fmt.Sprintf("%d entities x %d Hz x %d bytes, one way", t.entities, t.tickHz, t.messageBytes)
}

// lanesVariants returns all variants of compare-lanes, in the order of the report.
func lanesVariants(p *programs, traffic *gameTraffic) []*latencyVariant {
	var all []*latencyVariant
	for _, kcp4j := range p.kcp4j {
		for _, fec := range []struct {
			settings string
			args     []string
		}{{"no FEC", nil}, {"FEC adaptive", []string{"--adaptive-fec=2"}}} {
			for _, delivery := range []struct {
				name string
				args []string
			}{
				{"one stream", nil},
				{"lanes, ordered", []string{"--lane-kind=reliable_ordered"}},
				{"lanes, unordered", []string{"--lane-kind=reliable_unordered"}},
			} {
				args := slices.Concat(
					traffic.args(), []string{"--mode=lanes", mtuFlag(p.mtu)}, windows, fec.args,
					delivery.args)
				side := latencySide{kcp4j, args}
				all = append(all, &latencyVariant{
					transport: kcp4j.name, settings: delivery.name + ", " + fec.settings,
					client: side, server: side, serverMeasures: true,
					messagesPerSecond: traffic.messagesPerSecond()})
			}
		}
	}
	return all
}

// lanesColumns are those of compare-lanes. What the link has lost differs a little from its
// setting.
func (r *latencyReport) lanesColumns(string) []latencyColumn {
	return []latencyColumn{
		worst("late, %", lateShare), worst("lost by the link, %", lostShare),
		worst("late / lost", func(run *latencyRun) float64 { return lateShare(run) / lostShare(run) }),
		worst("p50", percentileOf(50)), worst("p99", percentileOf(99)),
		worst("p99.9", percentileOf(99.9)), worst("max", maxOf),
		worst("bytes up, times payload", r.timesPayloadUp),
	}
}

// lateShare is the share of messages that took longer than lateAfter, in percent.
func lateShare(run *latencyRun) float64 {
	return 100 * float64(run.Echoes.above(lateAfter)) / float64(run.Echoes.Messages)
}

// lostShare is the share of packets to the server that the link has lost, in percent.
func lostShare(run *latencyRun) float64 {
	return 100 * float64(run.Up.Lost) / float64(run.Up.Packets)
}
