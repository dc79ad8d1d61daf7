package main

import (
	"testing"
	"time"
)

func TestRatesAreThoseOfTheTimeBetweenTheMarksOfTheirProcess(t *testing.T) {
	start := time.Now()
	before := &latencyView{at: start, mark: mark{Bytes: 1000, Ns: 1e9},
		rivalMarks: []mark{{Bytes: 500, Ns: 7e9}, {}}}
	after := &latencyView{at: start.Add(11 * time.Second), mark: mark{Bytes: 13_000, Ns: 13e9},
		rivalMarks: []mark{{Bytes: 20_500, Ns: 17e9}, {Ns: 10e9}}, otherCPU: 2750 * time.Millisecond}
	run := &latencyRun{variant: &latencyVariant{overhead: 1}}
	run.setFigures(before, after)
	if run.Time != 11*time.Second || run.OtherCPU != 25 {
		t.Errorf("%v, %v %% of a core", run.Time, run.OtherCPU)
	}
	if run.Delivered != 1000 || run.RivalDelivered[0] != 2000 || run.RivalDelivered[1] != 0 {
		t.Errorf("%v, %v bytes per second", run.Delivered, run.RivalDelivered)
	}
}
