package link

import (
	"testing"
	"time"
)

func TestSnapshotsCountWhatHappenedBetween(t *testing.T) {
	var c counters
	snapshot := func() Snapshot {
		s := Snapshot{Up: c.counts(), excess: make([]int64, len(c.excess))}
		for us := range s.excess {
			s.excess[us] = c.excess[us].Load()
		}
		return s
	}
	c.packets.Add(5)
	c.addExcess(time.Second)
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
}
