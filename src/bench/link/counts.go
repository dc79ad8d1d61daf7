package link

import (
	"sync/atomic"
	"time"
)

// Counts are the packets of one direction. Bytes include the headers of UDP, TCP and IP.
type Counts struct {
	Packets int64 `json:"packets"` // sent by the peer, whatever became of them
	Bytes   int64 `json:"bytes"`   // of these
	Lost    int64 `json:"lost"`
	Dropped int64 `json:"dropped"` // by a full queue
	Failed  int64 `json:"failed"`  // refused by the system when they were due
}

func (c Counts) since(earlier Counts) Counts {
	return Counts{
		Packets: c.Packets - earlier.Packets,
		Bytes:   c.Bytes - earlier.Bytes,
		Lost:    c.Lost - earlier.Lost,
		Dropped: c.Dropped - earlier.Dropped,
		Failed:  c.Failed - earlier.Failed,
	}
}

// Limit is the most that a link may add to the delay of 99 % of the packets. A comparison of
// transports over a link that adds more is not published.
const Limit = 200 * time.Microsecond

// maxExcessUs is the longest excess delay that is counted exactly.
const maxExcessUs = 10_000

// Times in a queue are counted in bins.
const (
	waitBin     = 100 * time.Microsecond
	maxWaitBins = 20_000 // two seconds
)

// A Snapshot has what a link has counted since it was opened, or between two snapshots.
type Snapshot struct {
	Up, Down Counts  // of the client, of the server
	excess   []int64 // by microseconds
	waits    []int64 // of the client's packets, by bins
}

// Since returns what was counted after the earlier snapshot.
func (s Snapshot) Since(earlier Snapshot) Snapshot {
	return Snapshot{
		Up: s.Up.since(earlier.Up), Down: s.Down.since(earlier.Down),
		excess: difference(s.excess, earlier.excess), waits: difference(s.waits, earlier.waits),
	}
}

func difference(counts, earlier []int64) []int64 {
	between := make([]int64, len(counts))
	for i, count := range counts {
		between[i] = count - earlier[i]
	}
	return between
}

// Excess is a percentile of the time by which packets left the link after they were due, in both
// directions. At most 10 ms are counted.
func (s Snapshot) Excess(percent float64) time.Duration {
	return time.Duration(percentile(s.excess, percent)) * time.Microsecond
}

// Wait is a percentile of the time that the client's packets have waited in the queue. At most two
// seconds are counted.
func (s Snapshot) Wait(percent float64) time.Duration {
	return time.Duration(percentile(s.waits, percent)) * waitBin
}

// MeanWait is the mean of these times.
func (s Snapshot) MeanWait() time.Duration {
	bins, packets := int64(0), int64(0)
	for bin, count := range s.waits {
		bins += int64(bin) * count
		packets += count
	}
	if packets == 0 {
		return 0
	}
	return time.Duration(float64(bins) / float64(packets) * float64(waitBin))
}

// percentile is the first index until which so many percent are counted.
func percentile(counts []int64, percent float64) int {
	total := int64(0)
	for _, count := range counts {
		total += count
	}
	below := int64(0)
	for i, count := range counts {
		if below += count; float64(below)*100 >= float64(total)*percent {
			return i
		}
	}
	return 0
}

// counters are written by the thread of a pipe and read by others.
type counters struct {
	packets, bytes, lost, dropped, failed atomic.Int64
	excess                                [maxExcessUs + 1]atomic.Int64 // by microseconds
	waits                                 [maxWaitBins + 1]atomic.Int64 // by bins
}

func (c *counters) addWait(wait time.Duration) {
	c.waits[min(wait/waitBin, maxWaitBins)].Add(1)
}

func (c *counters) addExcess(excess time.Duration) {
	us := min(max(excess.Microseconds(), 0), maxExcessUs)
	c.excess[us].Add(1)
}

func (c *counters) counts() Counts {
	return Counts{
		Packets: c.packets.Load(), Bytes: c.bytes.Load(), Lost: c.lost.Load(),
		Dropped: c.dropped.Load(), Failed: c.failed.Load(),
	}
}
