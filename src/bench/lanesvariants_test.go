package main

import (
	"slices"
	"testing"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
)

func TestLanesAreComparedWithOneStreamWithAndWithoutFEC(t *testing.T) {
	all := lanesVariants(newPrograms(jvms{{name: "kcp4j"}}, "", 1400), &gameTraffic{50, 60, 50})
	names := map[string]bool{}
	for _, v := range all {
		names[v.fullName()] = true
		if !v.serverMeasures || v.messagesPerSecond != 3000 || v.needsIP {
			t.Errorf("%s: %+v", v.fullName(), v)
		}
		if !slices.Contains(v.server.args, "--mode=lanes") {
			t.Errorf("%s: %v", v.fullName(), v.server.args)
		}
	}
	if len(names) != 6 || len(all) != 6 {
		t.Errorf("%d variants, %d names", len(all), len(names))
	}
}

func TestLateMessagesAreThoseThatTakeLongerThanTwentyMilliseconds(t *testing.T) {
	r := &latencyReport{payload: 1000}
	run := &latencyRun{
		Time: time.Second,
		Echoes: &roundTrips{
			Messages: 200, Bins: [][2]int64{{1000, 195}, {1999, 1}, {2000, 3}, {9000, 1}}},
		Up: link.Counts{Packets: 100, Lost: 2, Bytes: 1500}}
	cell := &latencyCell{runs: []*latencyRun{run}}
	figures := map[string]float64{}
	for _, column := range r.lanesColumns("") {
		figures[column.title] = column.figure(cell)
	}
	if figures["late, %"] != 2 || figures["late / lost"] != 1 ||
		figures["bytes up, times payload"] != 1.5 {
		t.Errorf("%v", figures)
	}
}
