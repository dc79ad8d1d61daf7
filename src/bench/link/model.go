// Package link emulates a network link between two processes.
package link

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A Config describes one direction of a link. The zero value is a link without any fault.
type Config struct {
	Delay      time.Duration // of every packet
	Jitter     time.Duration // most that is added to the delay, uniformly; it reorders packets
	Loss       float64       // fraction of the packets that are lost, from 0 to less than 1
	Burst      time.Duration // mean length of a loss burst; 0: packets are lost independently
	Rate       float64       // bytes per second; 0: unlimited
	QueueBytes int           // most bytes that wait for the rate; 0: unlimited
	Seed       uint64        // of the losses and the jitter
}

// A fate is what becomes of a packet.
type fate int

const (
	delivered fate = iota
	lost           // on the path, behind the queue
	dropped        // by a full queue
)

// A model decides what becomes of the packets of one direction. It has no clock: times are those
// of its caller, since the link was opened.
type model struct {
	config Config
	random *rand.Rand // two numbers for each packet, whatever becomes of it
	bursts gilbert
	freeAt time.Duration          // when the last packet in the queue has left it
	outage atomic.Pointer[outage] // set by other threads; nil: none
}

// An outage loses every packet that leaves the queue in a period.
type outage struct{ start, end time.Duration }

func (o *outage) isAt(instant time.Duration) bool {
	return o != nil && o.start <= instant && instant < o.end
}

func newModel(config Config) *model {
	m := &model{config: config, random: rand.New(rand.NewPCG(config.Seed, 1))}
	if config.Loss > 0 && config.Burst > 0 {
		m.bursts = newGilbert(config.Loss, config.Burst, rand.New(rand.NewPCG(config.Seed, 2)))
	}
	return m
}

// admit returns the fate of a packet, and when it arrives if it is delivered.
func (m *model) admit(now time.Duration, bytes int) (time.Duration, fate) {
	chance, jitter := m.random.Float64(), m.random.Float64()
	leavesAt, ok := m.enqueue(now, bytes)
	if !ok {
		return 0, dropped
	}
	if m.isLost(leavesAt, chance) || m.outage.Load().isAt(leavesAt) {
		return 0, lost
	}
	return leavesAt + m.config.Delay + time.Duration(jitter*float64(m.config.Jitter)), delivered
}

// wait returns how long a packet will wait in the queue, unless that is full.
func (m *model) wait(now time.Duration) time.Duration {
	return max(m.freeAt-now, 0)
}

// enqueue returns when the packet has left the queue, and false if the queue has no room for it.
func (m *model) enqueue(now time.Duration, bytes int) (time.Duration, bool) {
	if m.config.Rate == 0 {
		return now, true
	}
	startsAt := max(now, m.freeAt)
	waiting := (startsAt - now).Seconds() * m.config.Rate
	if m.config.QueueBytes > 0 && waiting+float64(bytes) > float64(m.config.QueueBytes) {
		return 0, false
	}
	m.freeAt = startsAt + time.Duration(float64(bytes)/m.config.Rate*float64(time.Second))
	return m.freeAt, true
}

func (m *model) isLost(now time.Duration, chance float64) bool {
	if m.config.Burst > 0 {
		return m.bursts.isBad(now)
	}
	return chance < m.config.Loss
}

// gilbert is the model of Gilbert (1960) in continuous time: all packets are lost in the bad state,
// none in the good one. The lengths of the states are distributed exponentially.
type gilbert struct {
	random            *rand.Rand
	meanGood, meanBad float64
	bad               bool
	until             time.Duration
}

func newGilbert(loss float64, burst time.Duration, random *rand.Rand) gilbert {
	meanBad := float64(burst)
	g := gilbert{random: random, meanBad: meanBad, meanGood: meanBad * (1 - loss) / loss}
	g.until = time.Duration(g.random.ExpFloat64() * g.meanGood)
	return g
}

func (g *gilbert) isBad(now time.Duration) bool {
	if g.random == nil {
		return false
	}
	for now >= g.until {
		g.bad = !g.bad
		mean := g.meanGood
		if g.bad {
			mean = g.meanBad
		}
		g.until += time.Duration(g.random.ExpFloat64() * mean)
	}
	return g.bad
}
