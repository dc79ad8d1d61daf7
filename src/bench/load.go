package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
	"golang.org/x/net/ipv4"
)

// The commands of a KCP segment.
const (
	push = kcp.IKCP_CMD_PUSH
	ack  = kcp.IKCP_CMD_ACK
	wask = kcp.IKCP_CMD_WASK
	wins = kcp.IKCP_CMD_WINS
)

// A loadSession is one conversation of a loader, identified by its source address.
type loadSession struct {
	source   net.IP
	conv     uint32
	una      uint32 // of the server: the next sn that it expects
	received uint32 // echoes received: the next sn to come
	sent     uint32 // messages sent: the next sn to go
	failed   bool

	firstSentAt time.Time // of the message in flight
	sentAt      time.Time
	attempts    int

	from []byte // the control message that makes datagrams leave from source
}

// A loader implements the sender and the receiver of all sessions over one socket, in batches,
// without cipher and FEC. A session has at most one message in flight.
type loader struct {
	conn     *ipv4.PacketConn
	sessions []loadSession
	start    time.Time
	in       []ipv4.Message
	datagram []byte         // under construction
	out      []ipv4.Message // room for a batch
	waiting  int            // how many messages of out are to be sent

	retransmitted int
	roundTrips    []time.Duration // of echoes since the last hold began
}

type loadResult struct {
	Sessions      int     `json:"sessions"`
	Established   int     `json:"established"`
	EchoedBefore  int     `json:"echoed_before"`
	EchoedAfter   int     `json:"echoed_after"`
	Failures      int     `json:"failures"`
	Retransmitted int     `json:"retransmitted"`
	Seconds       float64 `json:"seconds"`
	HoldCPU       float64 `json:"hold_server_cpu_percent,omitempty"` // of one core
	ServerMB      float64 `json:"server_rss_mb,omitempty"`           // at the end of the hold
	*ticks
}

// ticks describes the messages that were sent during the hold.
type ticks struct {
	Messages      int     `json:"messages"`
	Late          int     `json:"late"` // ticks at which a session still waited for its last echo
	P50           float64 `json:"p50_us"`
	P99           float64 `json:"p99_us"`
	CPUPerMessage float64 `json:"server_cpu_us_per_message,omitempty"`
}

const (
	firstTimeout = 250 * time.Millisecond
	maxAttempts  = 7 // 250 ms, 500 ms ... 16 s: half a minute in all
	pollTime     = 20 * time.Millisecond
	maxSessions  = 1 << 23
	batch        = 64
	messageBytes = 50
)

func load(flags *flag.FlagSet, args []string) error {
	remote := flags.String("remote", "", "`address` of an echo server on 127.0.0.1")
	sessions := flags.Int("sessions", 20000,
		"how many `sessions`, each from an address of its own in 127.0.0.0/8")
	hold := flags.Float64("hold", 10, "how long to hold them, in `seconds`")
	tick := flags.Duration("tick", 0,
		"`interval` of a message of 50 bytes in each session during the hold; 0: none, sessions are idle")
	warmUp := flags.Duration("warm-up", 0,
		"`time` to do the same before the measurement, for the compiler of a JVM")
	serverPID := flags.Int("server-pid", 0, "`process` whose CPU time and memory to report")
	inFlight := flags.Int("in-flight", 128, "how many sessions may wait for an echo at the same time")
	timeout := flags.Duration("timeout", 5*time.Minute,
		"give up after this `time`; the hold does not count")
	sockBuf := flags.Int("sockbuf", 4<<20, "socket buffers in `bytes`")
	if err := cli.Parse(flags, args); err != nil {
		return err
	}
	if *tick < 0 || *warmUp < 0 {
		return cli.UsageErrorf("--tick %v, --warm-up %v: expected at least 0", *tick, *warmUp)
	}
	if *sessions < 1 || *sessions > maxSessions || *inFlight < 1 {
		return cli.UsageErrorf("--sessions %d, --in-flight %d: expected 1 to %d, and at least 1",
			*sessions, *inFlight, maxSessions)
	}
	l, err := newLoader(*remote, *sessions, *sockBuf)
	if err != nil {
		return err
	}
	defer l.conn.Close()
	pause := time.Duration(*hold * float64(time.Second))
	time.AfterFunc(*warmUp+pause+*timeout, func() {
		fmt.Fprintf(os.Stderr, "bench load: not done within %v\n", *timeout)
		os.Exit(1)
	})

	result := loadResult{Sessions: *sessions}
	l.echoAll(*inFlight)
	result.Established = l.count(func(s *loadSession) bool { return s.una > 0 })
	result.EchoedBefore = l.count(func(s *loadSession) bool { return s.received > 0 })
	fmt.Fprintf(os.Stderr, "holding %d sessions for %v\n", result.EchoedBefore, pause)
	l.spend(*warmUp, *tick)
	before := cpuTimeOf(*serverPID)
	result.ticks = l.spend(pause, *tick)
	if *serverPID != 0 {
		used := cpuTimeOf(*serverPID) - before
		result.HoldCPU = 100 * used.Seconds() / pause.Seconds()
		result.ServerMB = residentMB(*serverPID)
		if result.ticks != nil {
			result.ticks.CPUPerMessage = used.Seconds() * 1e6 / float64(result.ticks.Messages)
		}
	}
	echoed := make([]uint32, *sessions)
	for i := range l.sessions {
		echoed[i] = l.sessions[i].received
	}
	l.echoAll(*inFlight)
	for i := range l.sessions {
		if l.sessions[i].received > echoed[i] {
			result.EchoedAfter++
		}
	}
	result.Failures = *sessions - result.EchoedAfter
	result.Retransmitted = l.retransmitted
	result.Seconds = time.Since(l.start).Seconds()
	if err := cli.PrintJSON(result); err != nil {
		return err
	}
	if result.Failures > 0 {
		return fmt.Errorf("%d of %d sessions failed", result.Failures, *sessions)
	}
	return nil
}

func newLoader(remote string, sessions, sockBuf int) (*loader, error) {
	remoteAddress, err := net.ResolveUDPAddr("udp4", remote)
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, err
	}
	l := &loader{
		conn:     ipv4.NewPacketConn(conn),
		sessions: make([]loadSession, sessions),
		start:    time.Now(),
		in:       make([]ipv4.Message, batch),
		out:      make([]ipv4.Message, batch),
	}
	for i := range batch {
		l.in[i].Buffers = [][]byte{make([]byte, 2048)}
		l.in[i].OOB = ipv4.NewControlMessage(ipv4.FlagDst)
		l.out[i].Buffers = [][]byte{nil}
		l.out[i].Addr = remoteAddress
	}
	for i := range l.sessions {
		source := sourceAddress(i)
		from := (&ipv4.ControlMessage{Src: source}).Marshal()
		l.sessions[i] = loadSession{source: source, conv: 1 + rand.Uint32N(1<<32-1), from: from}
	}
	// The destination address of a datagram identifies its session.
	return l, errors.Join(
		kcpgo.SetBuffers(conn, sockBuf), l.conn.SetControlMessage(ipv4.FlagDst, true))
}

// sourceAddress is 127.1.0.1 for the first session; the last byte is 1 to 254.
func sourceAddress(i int) net.IP {
	return net.IPv4(127, byte(1+i/254/256), byte(i/254%256), byte(1+i%254)).To4()
}

// sessionOf is the inverse of sourceAddress. It returns nil for other addresses.
func (l *loader) sessionOf(address net.IP) *loadSession {
	a := address.To4()
	if a == nil || a[0] != 127 {
		return nil
	}
	i := ((int(a[1])-1)*256+int(a[2]))*254 + int(a[3]) - 1
	if i < 0 || i >= len(l.sessions) || !a.Equal(l.sessions[i].source) {
		return nil
	}
	return &l.sessions[i]
}

func (l *loader) count(condition func(*loadSession) bool) int {
	n := 0
	for i := range l.sessions {
		if condition(&l.sessions[i]) {
			n++
		}
	}
	return n
}

// echoAll sends a message on every session that has not failed and waits for the echoes. At most
// inFlight sessions wait at a time, so that socket buffers do not overflow.
func (l *loader) echoAll(inFlight int) {
	waiting := make([]*loadSession, 0, inFlight)
	for next := 0; next < len(l.sessions) || len(waiting) > 0; {
		for ; next < len(l.sessions) && len(waiting) < inFlight; next++ {
			s := &l.sessions[next]
			if s.failed {
				continue
			}
			if !s.isWaiting() {
				l.sendNext(s)
			}
			waiting = append(waiting, s)
		}
		l.receive(time.Now().Add(pollTime))
		waiting = l.stillWaiting(waiting)
	}
}

// stillWaiting removes the sessions that have their echo or have failed, and retransmits the
// messages of others when they are due.
func (l *loader) stillWaiting(waiting []*loadSession) []*loadSession {
	now := time.Now()
	still := waiting[:0]
	for _, s := range waiting {
		if s.isWaiting() && !l.retransmitIfDue(s, now) {
			still = append(still, s)
		}
	}
	return still
}

// retransmitIfDue returns whether the session has failed.
func (l *loader) retransmitIfDue(s *loadSession, now time.Time) bool {
	if now.Sub(s.sentAt) < firstTimeout<<(s.attempts-1) {
		return false
	}
	if s.attempts == maxAttempts {
		s.failed = true
		return true
	}
	l.retransmitted++
	l.send(s)
	return false
}

// spend idles, or sends messages at an interval that is not 0.
func (l *loader) spend(hold, interval time.Duration) *ticks {
	if interval > 0 {
		return l.tick(interval, hold)
	}
	l.idle(hold)
	return nil
}

// tick sends a message on every session once in an interval, evenly spread. A session that still
// waits for its last echo sends none.
func (l *loader) tick(interval, hold time.Duration) *ticks {
	t := &ticks{}
	l.roundTrips = l.roundTrips[:0]
	start := time.Now()
	turn := 0
	for now := start; now.Sub(start) < hold; now = time.Now() {
		due := int(now.Sub(start).Seconds() / interval.Seconds() * float64(len(l.sessions)))
		for ; turn < due; turn++ {
			s := &l.sessions[turn%len(l.sessions)]
			switch {
			case s.failed:
			case s.isWaiting():
				t.Late++
				l.retransmitIfDue(s, now)
			default:
				t.Messages++
				l.sendNext(s)
			}
		}
		l.receive(now.Add(time.Millisecond))
	}
	slices.Sort(l.roundTrips)
	if n := len(l.roundTrips); n > 0 {
		t.P50 = float64(l.roundTrips[n/2].Microseconds())
		t.P99 = float64(l.roundTrips[n*99/100].Microseconds())
	}
	return t
}

// idle answers and sends nothing else.
func (l *loader) idle(hold time.Duration) {
	for end := time.Now().Add(hold); time.Now().Before(end); {
		l.receive(end)
	}
}

// receive sends pending datagrams, waits until the deadline for datagrams, and answers them.
func (l *loader) receive(deadline time.Time) {
	l.flush()
	l.conn.SetReadDeadline(deadline)
	n, err := l.conn.ReadBatch(l.in, 0)
	if err != nil {
		return // a timeout or an ICMP error: the retransmission timer handles both
	}
	for i := range l.in[:n] {
		m := &l.in[i]
		var control ipv4.ControlMessage
		if control.Parse(m.OOB[:m.NN]) != nil {
			continue
		}
		if s := l.sessionOf(control.Dst); s != nil {
			l.datagram = l.datagram[:0]
			eachSegment(m.Buffers[0][:m.N], func(seg segment) { l.input(s, seg) })
			l.write(s)
		}
	}
	l.flush()
}

func (l *loader) input(s *loadSession, seg segment) {
	if seg.conv != s.conv {
		return
	}
	s.una = max(s.una, seg.una)
	switch seg.cmd {
	case ack:
		if seg.sn == s.una {
			s.una++
		}
	case wask:
		l.add(s, wins, 0, 0, nil)
	case push:
		if seg.sn == s.received && bytes.Equal(seg.payload, message(s, seg.sn)) {
			s.received++
			l.roundTrips = append(l.roundTrips, time.Since(s.firstSentAt))
		}
		if seg.sn < s.received {
			l.add(s, ack, seg.ts, seg.sn, nil)
		}
	}
}

// isWaiting returns whether a message has been sent whose echo is missing.
func (s *loadSession) isWaiting() bool {
	return s.sent > s.received
}

func (l *loader) sendNext(s *loadSession) {
	s.sent++
	s.attempts = 0
	s.firstSentAt = time.Now()
	l.send(s)
}

// send transmits or retransmits the message in flight.
func (l *loader) send(s *loadSession) {
	s.sentAt = time.Now()
	s.attempts++
	l.datagram = l.datagram[:0]
	sn := s.sent - 1
	l.add(s, push, uint32(time.Since(l.start).Milliseconds()), sn, message(s, sn))
	l.write(s)
}

// message returns the content of message sn of a session. No two are equal.
func message(s *loadSession, sn uint32) []byte {
	m := make([]byte, messageBytes)
	copy(m, s.source)
	binary.LittleEndian.PutUint32(m[4:], s.conv)
	binary.LittleEndian.PutUint32(m[8:], sn)
	return m
}

// add appends a segment to the datagram under construction.
func (l *loader) add(s *loadSession, cmd byte, ts, sn uint32, payload []byte) {
	const window = 128
	l.datagram = binary.LittleEndian.AppendUint32(l.datagram, s.conv)
	l.datagram = append(l.datagram, cmd, 0)
	l.datagram = binary.LittleEndian.AppendUint16(l.datagram, window)
	l.datagram = binary.LittleEndian.AppendUint32(l.datagram, ts)
	l.datagram = binary.LittleEndian.AppendUint32(l.datagram, sn)
	l.datagram = binary.LittleEndian.AppendUint32(l.datagram, s.received)
	l.datagram = binary.LittleEndian.AppendUint32(l.datagram, uint32(len(payload)))
	l.datagram = append(l.datagram, payload...)
}

// write queues the datagram, if it has any segment, to be sent from the session's address.
func (l *loader) write(s *loadSession) {
	if len(l.datagram) == 0 {
		return
	}
	if l.waiting == len(l.out) {
		l.flush()
	}
	m := &l.out[l.waiting]
	m.Buffers[0] = append(m.Buffers[0][:0], l.datagram...)
	m.OOB = s.from
	l.waiting++
}

// flush sends the queued datagrams. Those that cannot be sent count as lost.
func (l *loader) flush() {
	for sent := 0; sent < l.waiting; {
		n, err := l.conn.WriteBatch(l.out[sent:l.waiting], 0)
		if err != nil {
			n = max(n, 0) + 1
		}
		sent += n
	}
	l.waiting = 0
}

// cpuTimeOf is 0 for process 0.
func cpuTimeOf(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	used, err := cpuTime(pid)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return used
}
