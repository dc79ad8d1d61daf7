package link

import (
	"math"
	"slices"
	"testing"
	"time"
)

const packets = 200_000

func TestWithoutFaultsPacketsArriveAfterTheDelay(t *testing.T) {
	m := newModel(Config{Delay: 10 * time.Millisecond})
	for now := range time.Duration(1000) {
		if at, fate := m.admit(now, 100); fate != delivered || at != now+10*time.Millisecond {
			t.Fatalf("fate %v at %v", fate, at)
		}
	}
}

func TestJitterIsUniformAndReordersPackets(t *testing.T) {
	m := newModel(Config{Delay: 10 * time.Millisecond, Jitter: time.Millisecond, Seed: 1})
	var sum, last time.Duration
	reordered := 0
	for i := range time.Duration(packets) {
		now := i * 100 * time.Microsecond
		at, _ := m.admit(now, 100)
		jitter := at - now - 10*time.Millisecond
		if jitter < 0 || jitter > time.Millisecond {
			t.Fatalf("jitter %v", jitter)
		}
		if at < last {
			reordered++
		}
		sum += jitter
		last = at
	}
	near(t, "mean jitter in ms", sum.Seconds()*1000/packets, 0.5, 0.005)
	// Of two packets 0.1 of the jitter apart, the second is faster by more with chance 0.9² / 2.
	near(t, "reordered", float64(reordered)/packets, 0.405, 0.01)
}

func TestIndependentLossHasItsRateAfterLostAndAfterDeliveredPackets(t *testing.T) {
	m := newModel(Config{Loss: 0.05, Seed: 1})
	losses, pairs, afterLoss := 0, 0, false
	for i := range time.Duration(packets) {
		_, fate := m.admit(i*time.Microsecond, 100)
		if fate == lost {
			losses++
			if afterLoss {
				pairs++
			}
		}
		afterLoss = fate == lost
	}
	near(t, "lost", float64(losses)/packets, 0.05, 0.003)
	near(t, "lost after a loss", float64(pairs)/float64(losses), 0.05, 0.015)
}

func TestBurstsHaveTheirRateAndMeanLength(t *testing.T) {
	const step = 100 * time.Microsecond
	m := newModel(Config{Loss: 0.02, Burst: 3 * time.Millisecond, Seed: 1})
	losses, bursts, inBurst := 0, 0, false
	const samples = 50 * packets
	for i := range time.Duration(samples) {
		_, fate := m.admit(i*step, 100)
		if fate == lost {
			losses++
			if !inBurst {
				bursts++
			}
		}
		inBurst = fate == lost
	}
	near(t, "lost", float64(losses)/samples, 0.02, 0.001)
	// Sampling misses the shortest bursts, and so the others have at least one sample.
	mean := step.Seconds() * 1000 * float64(losses) / float64(bursts)
	near(t, "mean length of a burst in ms", mean, 3, 0.2)
}

func TestSeedsDetermineFates(t *testing.T) {
	fates := func(seed uint64) (sum time.Duration) {
		m := newModel(Config{Loss: 0.1, Jitter: time.Second, Seed: seed})
		for i := range time.Duration(100) {
			at, _ := m.admit(i, 100)
			sum = sum*31 + at
		}
		return sum
	}
	if fates(1) != fates(1) {
		t.Error("equal seeds, different fates")
	}
	if fates(1) == fates(2) {
		t.Error("different seeds, equal fates")
	}
}

func TestPacketsWaitForTheRate(t *testing.T) {
	m := newModel(Config{Delay: time.Millisecond, Rate: 100_000})
	for i := range time.Duration(3) {
		// 1000 bytes take 10 ms.
		if wait := m.wait(0); wait != i*10*time.Millisecond {
			t.Errorf("packet %d waits %v", i, wait)
		}
		if at, _ := m.admit(0, 1000); at != (i+1)*10*time.Millisecond+time.Millisecond {
			t.Errorf("packet %d at %v", i, at)
		}
	}
	if wait := m.wait(time.Second); wait != 0 {
		t.Errorf("on an idle link: %v", wait)
	}
	if at, _ := m.admit(time.Second, 500); at != time.Second+6*time.Millisecond {
		t.Errorf("on an idle link: %v", at)
	}
}

func TestAFullQueueDropsPacketsUntilItHasRoom(t *testing.T) {
	m := newModel(Config{Rate: 100_000, QueueBytes: 2000})
	expect := func(now time.Duration, expected fate) {
		t.Helper()
		if _, fate := m.admit(now, 1000); fate != expected {
			t.Errorf("fate %v at %v", fate, now)
		}
	}
	expect(0, delivered)
	expect(0, delivered)
	expect(0, dropped)
	expect(10*time.Millisecond-1, dropped)
	expect(10*time.Millisecond, delivered)
}

func TestAnOutageLosesAllPacketsFromItsStartUntilItsEnd(t *testing.T) {
	const start, end = time.Second, 3 * time.Second
	m := newModel(Config{Delay: 10 * time.Millisecond})
	m.outage.Store(&outage{start, end})
	for _, c := range []struct {
		now      time.Duration
		expected fate
	}{
		{0, delivered}, {start - 1, delivered}, {start, lost}, {end - 1, lost}, {end, delivered},
	} {
		if _, fate := m.admit(c.now, 100); fate != c.expected {
			t.Errorf("fate %v at %v", fate, c.now)
		}
	}
}

func TestAnOutageLosesPacketsThatWaitedForTheRateBefore(t *testing.T) {
	m := newModel(Config{Rate: 100_000}) // 1000 bytes take 10 ms
	m.outage.Store(&outage{20 * time.Millisecond, time.Second})
	for i, expected := range []fate{delivered, lost} {
		if _, fate := m.admit(0, 1000); fate != expected {
			t.Errorf("packet %d: fate %v", i, fate)
		}
	}
}

func TestAnOutageChangesNoLaterFate(t *testing.T) {
	arrivals := func(o *outage) (all []time.Duration) {
		m := newModel(Config{Loss: 0.3, Jitter: time.Second, Seed: 1})
		m.outage.Store(o)
		for i := range time.Duration(100) {
			if at, fate := m.admit(i, 100); i >= 10 && fate == delivered {
				all = append(all, at)
			}
		}
		return all
	}
	if !slices.Equal(arrivals(nil), arrivals(&outage{0, 10})) {
		t.Error("fates after the outage differ")
	}
}

func near(t *testing.T, what string, actual, expected, tolerance float64) {
	t.Helper()
	if math.Abs(actual-expected) > tolerance {
		t.Errorf("%s: %v, expected %v", what, actual, expected)
	}
}
