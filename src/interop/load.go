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
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"golang.org/x/net/ipv4"
)

// The commands of a KCP segment.
const (
	push = 81
	ack  = 82
	wask = 83
	wins = 84
)

// A segment is one of a datagram; its header has 24 bytes, little-endian.
type segment struct {
	conv    uint32
	cmd     byte
	ts      uint32
	sn      uint32
	una     uint32
	payload []byte
}

// readSegment needs the 24 bytes of the header to be there; the payload stays what it was.
func readSegment(b []byte) segment {
	return segment{
		conv: binary.LittleEndian.Uint32(b),
		cmd:  b[4],
		ts:   binary.LittleEndian.Uint32(b[8:]),
		sn:   binary.LittleEndian.Uint32(b[12:]),
		una:  binary.LittleEndian.Uint32(b[16:]),
	}
}

// eachSegment calls f for the segments of a datagram and stops at the first that is cut short.
func eachSegment(datagram []byte, f func(segment)) {
	for len(datagram) >= headerBytes {
		seg := readSegment(datagram)
		length := uint64(binary.LittleEndian.Uint32(datagram[20:]))
		datagram = datagram[headerBytes:]
		if length > uint64(len(datagram)) {
			return
		}
		seg.payload = datagram[:length]
		datagram = datagram[length:]
		f(seg)
	}
}

// A loadSession is one conversation of the load tool, told apart by its source address.
type loadSession struct {
	source   net.IP
	conv     uint32
	una      uint32 // what the server has acknowledged
	received uint32 // echoes received: the next sn to come
	sent     uint32 // messages sent: the next sn to go
	failed   bool

	firstSentAt time.Time // of the message under way
	sentAt      time.Time
	attempts    int

	from []byte // the control message that makes datagrams leave from source
}

// A loader speaks plain KCP, by hand, for all sessions over one socket, in batches. A session has one
// message under way at most.
type loader struct {
	conn     *ipv4.PacketConn
	sessions []loadSession
	start    time.Time
	in       []ipv4.Message
	datagram []byte         // the one that is being made
	out      []ipv4.Message // room for a batch, of which waiting ones have been written
	waiting  int

	retransmitted int
	roundTrips    []time.Duration // of echoes since they were last asked for
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

// ticks are the messages that were sent during the hold.
type ticks struct {
	Messages      int     `json:"messages"`
	Late          int     `json:"late"` // turns at which a session still waited for its last echo
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
	sessions := flags.Int("sessions", 20000, "how many `sessions`, each from an address of its own in 127.0.0.0/8")
	hold := flags.Float64("hold", 10, "how long to leave them idle, in `seconds`")
	tick := flags.Duration("tick", 0, "meanwhile send a message of 50 bytes in each session every so much `time`; 0: none")
	warmUp := flags.Duration("warm-up", 0, "how long to do the same before it is measured, until a JVM's compiler is done, in `time`")
	serverPID := flags.Int("server-pid", 0, "`process` whose processor time and memory to report")
	inFlight := flags.Int("in-flight", 128, "how many sessions may wait for an echo at the same time")
	timeout := flags.Duration("timeout", 5*time.Minute, "give up after this `time`, the hold not counted")
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
		fmt.Fprintf(os.Stderr, "interop load: not done within %v\n", *timeout)
		os.Exit(1)
	})

	result := loadResult{Sessions: *sessions}
	l.echoAll(*inFlight)
	result.Established = l.count(func(s *loadSession) bool { return s.una > 0 })
	result.EchoedBefore = l.count(func(s *loadSession) bool { return s.received > 0 })
	fmt.Fprintf(os.Stderr, "holding %d sessions for %v\n", result.EchoedBefore, pause)
	l.spend(*warmUp, *tick)
	before := processorTime(*serverPID)
	result.ticks = l.spend(pause, *tick)
	if *serverPID != 0 {
		used := processorTime(*serverPID) - before
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
	// The kernel tells to which address a datagram came: that is the session's.
	return l, errors.Join(kcpgo.SetBuffers(conn, sockBuf), l.conn.SetControlMessage(ipv4.FlagDst, true))
}

// sourceAddress is 127.1.0.1 for the first session; the last byte is 1 to 254.
func sourceAddress(i int) net.IP {
	return net.IPv4(127, byte(1+i/254/256), byte(i/254%256), byte(1+i%254)).To4()
}

// sessionOf is the inverse, or nil for an address that is none of ours.
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

// echoAll sends a message on every session that has not failed and waits for the echoes; never
// more than inFlight at a time, so that socket buffers do not overflow.
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

// stillWaiting drops who has its echo and who has failed, and sends again where it is time.
func (l *loader) stillWaiting(waiting []*loadSession) []*loadSession {
	now := time.Now()
	still := waiting[:0]
	for _, s := range waiting {
		if s.isWaiting() && !l.sendAgainIfDue(s, now) {
			still = append(still, s)
		}
	}
	return still
}

// sendAgainIfDue tells whether the session has failed.
func (l *loader) sendAgainIfDue(s *loadSession, now time.Time) bool {
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

// tick sends a message on every session once in an interval, evenly spread. A session whose last
// echo is still missing then passes its turn.
func (l *loader) tick(interval, hold time.Duration) *ticks {
	t := &ticks{}
	l.roundTrips = l.roundTrips[:0]
	start := time.Now()
	turn := 0
	for now := start; now.Sub(start) < hold; now = time.Now() {
		for due := int(now.Sub(start).Seconds() / interval.Seconds() * float64(len(l.sessions))); turn < due; turn++ {
			s := &l.sessions[turn%len(l.sessions)]
			switch {
			case s.failed:
			case s.isWaiting():
				t.Late++
				l.sendAgainIfDue(s, now)
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

// idle sends nothing of its own, and answers.
func (l *loader) idle(hold time.Duration) {
	for end := time.Now().Add(hold); time.Now().Before(end); {
		l.receive(end)
	}
}

// receive sends what is waiting, waits until the deadline for datagrams, takes them in and answers.
func (l *loader) receive(deadline time.Time) {
	l.flush()
	l.conn.SetReadDeadline(deadline)
	n, err := l.conn.ReadBatch(l.in, 0)
	if err != nil {
		return // nothing in time, or a refusal by ICMP: the retransmission decides
	}
	for i := range l.in[:n] {
		m := &l.in[i]
		var control ipv4.ControlMessage
		if control.Parse(m.OOB[:m.NN]) != nil {
			continue
		}
		if s := l.sessionOf(control.Dst); s != nil {
			l.datagram = l.datagram[:0]
			eachSegment(m.Buffers[0][:m.N], func(seg segment) { l.take(s, seg) })
			l.write(s)
		}
	}
	l.flush()
}

func (l *loader) take(s *loadSession, seg segment) {
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

// isWaiting tells whether a message has been sent whose echo is missing.
func (s *loadSession) isWaiting() bool {
	return s.sent > s.received
}

func (l *loader) sendNext(s *loadSession) {
	s.sent++
	s.attempts = 0
	s.firstSentAt = time.Now()
	l.send(s)
}

// send sends the message under way, for the first time or again.
func (l *loader) send(s *loadSession) {
	s.sentAt = time.Now()
	s.attempts++
	l.datagram = l.datagram[:0]
	sn := s.sent - 1
	l.add(s, push, uint32(time.Since(l.start).Milliseconds()), sn, message(s, sn))
	l.write(s)
}

// message is what a session sends as its message sn: no two are equal.
func message(s *loadSession, sn uint32) []byte {
	m := make([]byte, messageBytes)
	copy(m, s.source)
	binary.LittleEndian.PutUint32(m[4:], s.conv)
	binary.LittleEndian.PutUint32(m[8:], sn)
	return m
}

// add appends a segment to the datagram that is being made.
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

// write queues the datagram, if there is anything in it, to leave from the session's address.
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

// flush sends what is waiting. What cannot be sent counts as lost.
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

// processorTime is 0 if there is no process to look at.
func processorTime(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	used, err := cpuTime(pid)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return used
}

// residentMB is 0 if it is not known.
func residentMB(pid int) float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		var kB float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kB); n == 1 {
			return kB * 1024 / 1e6
		}
	}
	return 0
}
