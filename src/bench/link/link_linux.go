package link

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A Link connects one client with one server.
type Link struct {
	client, server host
	up, down       *pipe
	epoch          time.Time
	stopped        atomic.Bool
	threads        sync.WaitGroup
	descriptors    []int
	resume         func()

	// connect makes the server reachable, and returns the address that the client sends to.
	connect func(server netip.AddrPort) (netip.AddrPort, error)
}

// A host is where one side of a link runs.
type host interface {
	// do calls f on a thread of the host: sockets and processes that f makes belong to it.
	do(f func() error) error
	address() netip.Addr
	close()
}

// Connect returns the address at which the client reaches the server.
func (l *Link) Connect(server netip.AddrPort) (netip.AddrPort, error) {
	return l.connect(server)
}

// ServerAddress is where the server has to listen, on a port of its choice.
func (l *Link) ServerAddress() netip.Addr {
	return l.server.address()
}

// OnServer calls f where the server belongs.
func (l *Link) OnServer(f func() error) error {
	return l.server.do(f)
}

// OnClient calls f where the client belongs.
func (l *Link) OnClient(f func() error) error {
	return l.client.do(f)
}

// A Direction is one way through a link, or both.
type Direction int

const (
	Up       Direction = 1 << iota // from the client to the server
	Down                           // from the server to the client
	BothWays = Up | Down
)

// SetOutage has all packets lost that enter the link in this direction from start until end, or
// leave its queue then. Packets that are on their way at the start arrive. It replaces an earlier
// outage of the direction.
func (l *Link) SetOutage(d Direction, start, end time.Time) {
	o := &outage{start.Sub(l.epoch), end.Sub(l.epoch)}
	if d&Up != 0 {
		l.up.model.outage.Store(o)
	}
	if d&Down != 0 {
		l.down.model.outage.Store(o)
	}
}

// Snapshot returns what has been counted.
func (l *Link) Snapshot() Snapshot {
	s := Snapshot{
		Up: l.up.counters.counts(), Down: l.down.counters.counts(),
		excess: make([]int64, maxExcessUs+1), waits: make([]int64, maxWaitBins+1),
	}
	for us := range s.excess {
		s.excess[us] = l.up.counters.excess[us].Load() + l.down.counters.excess[us].Load()
	}
	for bin := range s.waits {
		s.waits[bin] = l.up.counters.waits[bin].Load()
	}
	return s
}

// Close ends the link, and discards what is on its way.
func (l *Link) Close() {
	l.stopped.Store(true)
	l.threads.Wait()
	for _, descriptor := range l.descriptors {
		unix.Close(descriptor)
	}
	l.client.close()
	l.server.close()
	l.resume()
}

func newLink(up, down Config, headerBytes int) *Link {
	l := &Link{epoch: time.Now(), resume: calmRuntime()}
	newPipe := func(config Config) *pipe {
		return &pipe{headerBytes: headerBytes, model: newModel(config), epoch: l.epoch,
			counters: new(counters), stopped: &l.stopped}
	}
	l.up, l.down = newPipe(up), newPipe(down)
	return l
}

// start moves packets between the descriptors from now on.
func (l *Link) start(client, server int) {
	l.up.in, l.up.out = client, server
	l.down.in, l.down.out = server, client
	for _, p := range []*pipe{l.up, l.down} {
		l.threads.Add(1)
		go func() {
			defer l.threads.Done()
			p.run()
		}()
	}
}
