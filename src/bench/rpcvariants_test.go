package main

import (
	"testing"
	"time"
)

func TestOnlyUnaryCallsHaveARate(t *testing.T) {
	all := rpcVariants(jvms{{name: "17"}, {name: "25"}}, "", 1400, &rpcTraffic{rate: 200})
	names := map[string]bool{}
	for _, v := range all {
		names[v.fullName()] = true
		if v.messagesPerSecond != map[string]float64{unary: 200, bidi: 0}[v.work] {
			t.Errorf("%s: %v messages a second", v.fullName(), v.messagesPerSecond)
		}
		if v.needsIP != (v.transport == "TCP") {
			t.Errorf("%s: needs IP: %v", v.fullName(), v.needsIP)
		}
	}
	if len(names) != 10 || len(all) != len(names) {
		t.Errorf("%d variants, %d names", len(all), len(names))
	}
}

func TestTheWorstOfMessagesPerSecondIsTheLeast(t *testing.T) {
	run := func(messages int64, maxUs float64) *latencyRun {
		return &latencyRun{
			Time: 2 * time.Second, Echoes: &roundTrips{Messages: messages, MaxUs: maxUs}}
	}
	cell := &latencyCell{runs: []*latencyRun{run(100, 3000), run(60, 1000), run(80, 2000)}}
	figures := map[string]float64{}
	for _, column := range rpcColumns(bidi) {
		figures[column.title] = column.figure(cell)
	}
	if figures["messages/s"] != 30 || figures["max"] != 3 {
		t.Errorf("%v", figures)
	}
	for _, column := range rpcColumns(unary) {
		if column.title == "messages/s" {
			t.Error("unary calls have a rate of their own")
		}
	}
}
