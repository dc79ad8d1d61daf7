package link

import (
	"testing"
	"time"
)

func TestSnapshotsCountWhatHappenedBetween(t *testing.T) {
	var c counters
	snapshot := func() Snapshot {
		s := Snapshot{
			Up: c.counts(), excess: make([]int64, len(c.excess)), waits: make([]int64, len(c.waits))}
		for us := range s.excess {
			s.excess[us] = c.excess[us].Load()
		}
		for bin := range s.waits {
			s.waits[bin] = c.waits[bin].Load()
		}
		return s
	}
	c.packets.Add(5)
	c.addExcess(time.Second)
	c.addWait(time.Hour)
	before := snapshot()
	c.packets.Add(100)
	c.bytes.Add(1000)
	for us := range 100 {
		c.addExcess(time.Duration(us) * time.Microsecond)
	}
	between := snapshot().Since(before)
	if between.Up != (Counts{Packets: 100, Bytes: 1000}) {
		t.Errorf("%+v", between.Up)
	}
	if p99 := between.Excess(99); p99 != 98*time.Microsecond {
		t.Errorf("p99 %v", p99)
	}
	if wait := between.MeanWait(); wait != 0 {
		t.Errorf("mean wait without packets %v", wait)
	}
	for ms := range 100 {
		c.addWait(time.Duration(ms) * time.Millisecond)
	}
	between = snapshot().Since(before)
	if p95 := between.Wait(95); p95 != 94*time.Millisecond {
		t.Errorf("p95 of waits %v", p95)
	}
	if mean := between.MeanWait(); mean != 49500*time.Microsecond {
		t.Errorf("mean wait %v", mean)
	}
}
