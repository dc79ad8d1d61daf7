package main

import (
	"math"
	"slices"
	"sync"
	"time"
)

// binUs is the width of a histogram's bins, here and in io.kcp4j.load.RoundTripHistogram.
const binUs = 10

// roundTrips is a histogram of the round trips of messages.
type roundTrips struct {
	Messages int64      `json:"messages"`
	MaxUs    float64    `json:"max_us"`
	Bins     [][2]int64 `json:"bins_10us"` // those not empty, in order: number and count
}

// percentileMs is the upper bound of the bin that contains the nearest-rank percentile.
func (r *roundTrips) percentileMs(percent float64) float64 {
	rank := int64(math.Ceil(float64(r.Messages) * percent / 100))
	for _, bin := range r.Bins {
		if rank -= bin[1]; rank <= 0 {
			return float64(bin[0]+1) * binUs / 1000
		}
	}
	return math.NaN()
}

// above counts the messages that took at least so long, a multiple of a bin.
func (r *roundTrips) above(limit time.Duration) int64 {
	messages := int64(0)
	for _, bin := range r.Bins {
		if bin[0] >= limit.Microseconds()/binUs {
			messages += bin[1]
		}
	}
	return messages
}

// merge returns the histogram of all messages.
func merge(all []*roundTrips) *roundTrips {
	merged := &roundTrips{}
	counts := map[int64]int64{}
	for _, r := range all {
		merged.Messages += r.Messages
		merged.MaxUs = max(merged.MaxUs, r.MaxUs)
		for _, bin := range r.Bins {
			counts[bin[0]] += bin[1]
		}
	}
	for bin, count := range counts {
		merged.Bins = append(merged.Bins, [2]int64{bin, count})
	}
	slices.SortFunc(merged.Bins, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	return merged
}

// A roundTripRecorder counts round trips between two requests.
type roundTripRecorder struct {
	mu       sync.Mutex
	counts   []int64 // by bin
	messages int64
	max      time.Duration
}

func (r *roundTripRecorder) add(d time.Duration) {
	bin := int(d.Microseconds() / binUs)
	r.mu.Lock()
	defer r.mu.Unlock()
	if missing := bin + 1 - len(r.counts); missing > 0 {
		r.counts = append(r.counts, make([]int64, missing)...)
	}
	r.counts[bin]++
	r.messages++
	r.max = max(r.max, d)
}

// take returns what was added since the last call.
func (r *roundTripRecorder) take() any {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := roundTrips{Messages: r.messages, MaxUs: float64(r.max) / float64(time.Microsecond)}
	for bin, count := range r.counts {
		if count > 0 {
			taken.Bins = append(taken.Bins, [2]int64{int64(bin), count})
		}
	}
	clear(r.counts)
	r.messages, r.max = 0, 0
	return taken
}
