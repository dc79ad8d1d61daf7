package link

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// spin is how long before a packet is due its thread stops sleeping. Most wake-ups are faster.
	spin = 100 * time.Microsecond

	// maxSleep is how long a thread may take to notice that its link was closed.
	maxSleep = 100 * time.Millisecond

	// readBatch limits how many packets are read before those that are due are written.
	readBatch = 16
)

// A pipe is one direction of a link: it moves packets from one non-blocking file descriptor to
// another, on a thread of its own.
type pipe struct {
	in, out     int
	headerBytes int // of each packet, which the descriptors do not show
	model       *model
	epoch       time.Time
	counters    *counters
	stopped     *atomic.Bool

	queue packetQueue
	free  []*packet
	poll  []unix.PollFd
}

// run returns when the pipe has been stopped.
func (p *pipe) run() {
	lockPreciseThread()
	p.poll = []unix.PollFd{{Fd: int32(p.in), Events: unix.POLLIN}}
	for !p.stopped.Load() {
		if wait := p.deliver(); wait > spin {
			timeout := unix.NsecToTimespec(int64(min(wait-spin, maxSleep)))
			unix.Ppoll(p.poll, &timeout, nil)
		}
		p.receive()
	}
}

// deliver writes the packets that are due, and returns how long the next one has to wait.
func (p *pipe) deliver() time.Duration {
	for {
		next := p.queue.next()
		if next == nil {
			return maxSleep
		}
		if wait := next.dueAt - time.Since(p.epoch); wait > 0 {
			return wait
		}
		p.queue.pop()
		if _, err := unix.Write(p.out, next.data[:next.size]); err != nil {
			p.counters.failed.Add(1)
		}
		p.counters.addExcess(time.Since(p.epoch) - next.dueAt)
		p.free = append(p.free, next)
	}
}

// receive reads the packets that have arrived. An error is either that there are none, or an ICMP
// error, which is reported once.
func (p *pipe) receive() {
	for range readBatch {
		packet := p.take()
		n, err := unix.Read(p.in, packet.data[:])
		if err != nil {
			p.free = append(p.free, packet)
			return
		}
		packet.size = n
		p.admit(packet)
	}
}

func (p *pipe) take() *packet {
	last := len(p.free) - 1
	if last < 0 {
		return new(packet)
	}
	packet := p.free[last]
	p.free = p.free[:last]
	return packet
}

func (p *pipe) admit(packet *packet) {
	bytes := packet.size + p.headerBytes
	p.counters.packets.Add(1)
	p.counters.bytes.Add(int64(bytes))
	now := time.Since(p.epoch)
	wait := p.model.wait(now)
	dueAt, fate := p.model.admit(now, bytes)
	if fate != dropped {
		p.counters.addWait(wait)
	}
	switch fate {
	case delivered:
		packet.dueAt = dueAt
		p.queue.push(packet)
		return
	case lost:
		p.counters.lost.Add(1)
	case dropped:
		p.counters.dropped.Add(1)
	}
	p.free = append(p.free, packet)
}
