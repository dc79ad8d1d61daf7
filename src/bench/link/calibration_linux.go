package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The probes resemble the traffic that is measured: some datagrams in each tick.
const (
	probePeriod  = time.Second / 60
	probeBurst   = 3
	probeBytes   = 450
	probeTimeout = 200 * time.Millisecond // beyond the delay of the link
)

// A Calibration has what a link adds to its delay, in both directions together.
type Calibration struct {
	Probes        int           `json:"probes"`
	P50, P99, Max time.Duration `json:"-"`
}

// Calibrate sends probes through the link and back for the given time, and measures what the link
// adds to its delay. The link must have neither jitter nor loss nor rate.
func (l *Link) Calibrate(delay, duration time.Duration) (Calibration, error) {
	server, client, err := l.probeSockets(2*delay + probeTimeout)
	if err != nil {
		return Calibration{}, err
	}
	defer unix.Close(server)
	defer unix.Close(client)

	p := prober{delay}
	var threads sync.WaitGroup
	var added [2][]time.Duration
	for _, run := range []func(){
		func() { p.send(client, duration) },
		func() { added[0] = p.receive(server, p.reply(server)) },
		func() { added[1] = p.receive(client, func(unix.Sockaddr) {}) },
	} {
		threads.Add(1)
		go func() {
			defer threads.Done()
			lockPreciseThread()
			run()
		}()
	}
	threads.Wait()

	all := slices.Concat(added[0], added[1])
	if sent := int(duration/probePeriod) * probeBurst; len(all) < sent {
		return Calibration{}, fmt.Errorf("calibration: only %d of %d probes arrived",
			len(all), 2*sent)
	}
	slices.Sort(all)
	return Calibration{Probes: len(all), P50: all[len(all)/2], P99: all[len(all)*99/100],
		Max: all[len(all)-1]}, nil
}

// probeSockets returns a socket on each host; that of the client is connected to the other. They
// receive until nothing has arrived for the given time.
func (l *Link) probeSockets(wait time.Duration) (server, client int, err error) {
	var remote netip.AddrPort
	err = l.OnServer(func() error {
		if server, err = probeSocket(wait); err != nil {
			return err
		}
		if err := unix.Bind(server, sockaddr(netip.AddrPortFrom(l.ServerAddress(), 0))); err != nil {
			return err
		}
		local, err := unix.Getsockname(server)
		if err != nil {
			return err
		}
		port := uint16(local.(*unix.SockaddrInet4).Port)
		remote, err = l.Connect(netip.AddrPortFrom(l.ServerAddress(), port))
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	err = l.OnClient(func() error {
		if client, err = probeSocket(wait); err != nil {
			return err
		}
		return unix.Connect(client, sockaddr(remote))
	})
	return server, client, err
}

func probeSocket(wait time.Duration) (int, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	timeout := unix.NsecToTimeval(int64(wait))
	return socket, errors.Join(
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout))
}

// A prober sends datagrams that carry the time when they were sent. They have arrived when the
// kernel received them: waking up the receiver does not count.
type prober struct {
	delay time.Duration
}

func stamp(probe []byte) {
	binary.BigEndian.PutUint64(probe, uint64(time.Now().UnixNano()))
}

func (p *prober) send(socket int, duration time.Duration) {
	probe := make([]byte, probeBytes)
	ticks := time.NewTicker(probePeriod)
	defer ticks.Stop()
	for end := time.Now().Add(duration); time.Now().Before(end); {
		<-ticks.C
		for range probeBurst {
			stamp(probe)
			unix.Write(socket, probe)
		}
	}
}

// reply returns a function that sends a new probe to the source of another.
func (p *prober) reply(socket int) func(unix.Sockaddr) {
	probe := make([]byte, probeBytes)
	return func(source unix.Sockaddr) {
		stamp(probe)
		unix.Sendto(socket, probe, 0, source)
	}
}

// receive returns what was added to the delay of each probe, once no more arrive.
func (p *prober) receive(socket int, then func(source unix.Sockaddr)) []time.Duration {
	var added []time.Duration
	probe, control := make([]byte, probeBytes), make([]byte, 64)
	for {
		_, n, _, source, err := unix.Recvmsg(socket, probe, control, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return added
		}
		sentAt := time.Duration(binary.BigEndian.Uint64(probe))
		added = append(added, arrival(control[:n])-sentAt-p.delay)
		then(source)
	}
}

// arrival returns the only control message, a time stamp.
func arrival(control []byte) time.Duration {
	stamp := (*unix.Timespec)(unsafe.Pointer(&control[unix.CmsgLen(0)]))
	return time.Duration(stamp.Nano())
}
