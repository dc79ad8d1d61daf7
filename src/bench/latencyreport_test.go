package main

import (
	"testing"

	"github.com/kcp4j/kcp4j/bench/link"
)

func TestDisturbedRunsAreRefusedAndOthersFailIfEchoesAreMissing(t *testing.T) {
	for _, c := range []struct {
		run                latencyRun
		refused, hasFailed bool
	}{
		{latencyRun{Echoes: &roundTrips{Messages: 98}}, false, false},
		{latencyRun{Echoes: &roundTrips{Messages: 97}}, false, true},
		{latencyRun{Echoes: &roundTrips{Messages: 98}, ExcessP99: link.Limit}, false, false},
		{latencyRun{Echoes: &roundTrips{Messages: 98}, ExcessP99: link.Limit + 1}, true, false},
		{latencyRun{Echoes: &roundTrips{Messages: 97}, OtherCPU: maxOtherCPU + 1}, true, false},
		{latencyRun{Echoes: &roundTrips{Messages: 98}, Down: link.Counts{Failed: 1}}, true, false},
	} {
		c.run.check(100)
		if (c.run.Refusal != "") != c.refused || (c.run.Failure != "") != c.hasFailed {
			t.Errorf("refused: %q, failed: %q", c.run.Refusal, c.run.Failure)
		}
	}
}

func TestCellsHavePublishedRunsAndCountThoseThatHaveFailed(t *testing.T) {
	tcp, quic := &latencyVariant{transport: "TCP"}, &latencyVariant{transport: "QUIC"}
	run := func(v *latencyVariant, loss, maxUs float64) *latencyRun {
		return &latencyRun{variant: v, Loss: loss, Echoes: &roundTrips{MaxUs: maxUs}}
	}
	refused, failed := run(tcp, 5, 9000), run(tcp, 5, 9000)
	refused.Refusal, failed.Failure = "disturbed", "no echo"
	r := &latencyReport{variants: []*latencyVariant{tcp, quic}, Runs: []*latencyRun{
		run(quic, 5, 1000), refused, failed, run(tcp, 5, 2000), run(tcp, 5, 1000), run(tcp, 1, 1000)}}
	cells := r.cells()
	if len(cells) != 3 || cells[0].loss != 1 || cells[2].variant != quic {
		t.Fatalf("%d cells", len(cells))
	}
	if c := cells[1]; len(c.runs) != 2 || c.failed != 1 || c.worst(maxOf) != 2 {
		t.Errorf("%d runs, %d failed, worst %v", len(c.runs), c.failed, c.worst(maxOf))
	}
}

func TestWithoutAnExpectedNumberOneEchoIsEnough(t *testing.T) {
	one, none := latencyRun{Echoes: &roundTrips{Messages: 1}}, latencyRun{Echoes: &roundTrips{}}
	one.check(0)
	none.check(0)
	if one.Failure != "" || none.Failure == "" {
		t.Errorf("one echo: %q, none: %q", one.Failure, none.Failure)
	}
}
