package main

import (
	"math"
	"testing"
	"time"
)

func TestEveryBottleneckHasAllCongestionVariants(t *testing.T) {
	bottlenecks, err := newBottlenecks("20,100", "1,10")
	if err != nil {
		t.Fatal(err)
	}
	traffic := &gameTraffic{entities: 25, tickHz: 60, messageBytes: 50}
	names := map[string]bool{}
	all := congestionVariants(newPrograms(jvms{{name: "kcp4j"}}, "", 1400), traffic, bottlenecks)
	for _, v := range all {
		names[v.fullName()] = true
		if len(v.rivals) > 0 && !v.needsIP {
			t.Errorf("%s: the relay has one client only", v.fullName())
		}
		if v.isBulk() == (v.messagesPerSecond > 0) {
			t.Errorf("%s: %v messages a second", v.fullName(), v.messagesPerSecond)
		}
	}
	if len(all) != 4*14 || len(names) != len(all) {
		t.Errorf("%d variants, %d names", len(all), len(names))
	}
}

func TestQueuesAreGivenInBandwidthDelayProducts(t *testing.T) {
	b := bottleneck{megabits: 20, bdps: 10}
	if bytes := b.queueBytes(40 * time.Millisecond); bytes != 1_000_000 {
		t.Errorf("%d bytes", bytes)
	}
	for _, lists := range [][2]string{{"", "1"}, {"20", "0"}, {"20,x", "1"}, {"20", "-1"}, {"NaN", "1"}} {
		if _, err := newBottlenecks(lists[0], lists[1]); err == nil {
			t.Errorf("%q, %q: no error", lists[0], lists[1])
		}
	}
}

func TestSharesAreOfWhatRateAndLossesLeave(t *testing.T) {
	run := &latencyRun{
		Rate: 1000, Loss: 50, Time: 10 * time.Second, Delivered: 100, RivalDelivered: []float64{200, 0},
		variant: &latencyVariant{overhead: 1.5, rivals: []*latencyVariant{
			{overhead: 1.25}, {overhead: 1.25}}}}
	run.Up.Bytes, run.Up.Packets, run.Up.Dropped = 3000, 10, 1
	for _, c := range []struct {
		name             string
		actual, expected float64
	}{
		{"share", share(run), 30},
		{"rival's share", rivalShare(run), 50},
		{"least share", leastShare(run), 0},
		{"highest share", highestShare(run), 50},
		{"fairness", fairness(run), 100 * 80 * 80 / (3 * (30*30 + 50*50.0))},
		{"sent", sentShare(run), 200},
		{"dropped", droppedShare(run), 10},
	} {
		if math.Abs(c.actual-c.expected) > 1e-9 {
			t.Errorf("%s: %v, expected %v", c.name, c.actual, c.expected)
		}
	}
}

func TestRunsOfBulkDataFailIfNothingWasDelivered(t *testing.T) {
	none, some, disturbed := latencyRun{}, latencyRun{Delivered: 1}, latencyRun{OtherCPU: maxOtherCPU + 1}
	shared := latencyRun{Delivered: 1, RivalDelivered: []float64{1, 1}}
	withoutRival := latencyRun{Delivered: 1, RivalDelivered: []float64{1, 0}}
	for _, run := range []*latencyRun{&none, &some, &disturbed, &shared, &withoutRival} {
		run.checkDelivered()
		run.checkRivals()
	}
	if none.Failure == "" || !some.isPublished() || disturbed.Refusal == "" {
		t.Errorf("%q, %q, %q", none.reason(), some.reason(), disturbed.reason())
	}
	if !shared.isPublished() || withoutRival.Failure == "" {
		t.Errorf("%q, %q", shared.reason(), withoutRival.reason())
	}
}
