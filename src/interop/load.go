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
	"time"

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
	failed   bool

	sentAt   time.Time
	attempts int
}

// A loader speaks plain KCP, by hand, for all sessions over one socket. A session has one message
// under way at most.
type loader struct {
	conn     *ipv4.PacketConn
	remote   *net.UDPAddr
	sessions []loadSession
	start    time.Time
	in, out  []byte

	retransmitted int
}

type loadResult struct {
	Sessions      int     `json:"sessions"`
	Established   int     `json:"established"`
	EchoedBefore  int     `json:"echoed_before"`
	EchoedAfter   int     `json:"echoed_after"`
	Failures      int     `json:"failures"`
	Retransmitted int     `json:"retransmitted"`
	Seconds       float64 `json:"seconds"`
}

const (
	firstTimeout = 250 * time.Millisecond
	maxAttempts  = 7 // 250 ms, 500 ms ... 16 s: half a minute in all
	pollTime     = 20 * time.Millisecond
	maxSessions  = 1 << 23
)

func load(flags *flag.FlagSet, args []string) error {
	remote := flags.String("remote", "", "`address` of an echo server on 127.0.0.1")
	sessions := flags.Int("sessions", 20000, "how many `sessions`, each from an address of its own in 127.0.0.0/8")
	hold := flags.Float64("hold", 10, "how long to leave them idle, in `seconds`")
	inFlight := flags.Int("in-flight", 128, "how many sessions may wait for an echo at the same time")
	timeout := flags.Duration("timeout", 5*time.Minute, "give up after this `time`, the hold not counted")
	sockBuf := flags.Int("sockbuf", 4<<20, "socket buffers in `bytes`")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *sessions < 1 || *sessions > maxSessions || *inFlight < 1 {
		return usageErrorf("--sessions %d, --in-flight %d: expected 1 to %d, and at least 1",
			*sessions, *inFlight, maxSessions)
	}
	l, err := newLoader(*remote, *sessions, *sockBuf)
	if err != nil {
		return err
	}
	defer l.conn.Close()
	pause := time.Duration(*hold * float64(time.Second))
	time.AfterFunc(pause+*timeout, func() {
		fmt.Fprintf(os.Stderr, "interop load: not done within %v\n", *timeout)
		os.Exit(1)
	})

	result := loadResult{Sessions: *sessions}
	l.echoAll(0, *inFlight)
	result.Established = l.count(func(s *loadSession) bool { return s.una > 0 })
	result.EchoedBefore = l.count(func(s *loadSession) bool { return s.received > 0 })
	fmt.Fprintf(os.Stderr, "holding %d sessions for %v\n", result.EchoedBefore, pause)
	l.idle(pause)
	l.echoAll(1, *inFlight)
	result.EchoedAfter = l.count(func(s *loadSession) bool { return s.received > 1 })
	result.Failures = *sessions - result.EchoedAfter
	result.Retransmitted = l.retransmitted
	result.Seconds = time.Since(l.start).Seconds()
	if err := printJSON(result); err != nil {
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
		remote:   remoteAddress,
		sessions: make([]loadSession, sessions),
		start:    time.Now(),
		in:       make([]byte, 2048),
	}
	for i := range l.sessions {
		l.sessions[i] = loadSession{source: sourceAddress(i), conv: 1 + rand.Uint32N(1<<32-1)}
	}
	// The kernel tells to which address a datagram came: that is the session's.
	return l, errors.Join(setBuffers(conn, sockBuf), l.conn.SetControlMessage(ipv4.FlagDst, true))
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

// echoAll sends message sn on every session that has not failed and waits for the echoes; never
// more than inFlight at a time, so that socket buffers do not overflow.
func (l *loader) echoAll(sn uint32, inFlight int) {
	waiting := make([]*loadSession, 0, inFlight)
	for next := 0; next < len(l.sessions) || len(waiting) > 0; {
		for ; next < len(l.sessions) && len(waiting) < inFlight; next++ {
			s := &l.sessions[next]
			if s.failed {
				continue
			}
			s.attempts = 0
			l.sendMessage(s, sn)
			waiting = append(waiting, s)
		}
		l.receive(time.Now().Add(pollTime))
		waiting = l.stillWaiting(waiting, sn)
	}
}

// stillWaiting drops who has its echo and who has failed, and sends again where it is time.
func (l *loader) stillWaiting(waiting []*loadSession, sn uint32) []*loadSession {
	now := time.Now()
	still := waiting[:0]
	for _, s := range waiting {
		if s.received > sn {
			continue
		}
		if now.Sub(s.sentAt) >= firstTimeout<<(s.attempts-1) {
			if s.attempts == maxAttempts {
				s.failed = true
				continue
			}
			l.retransmitted++
			l.sendMessage(s, sn)
		}
		still = append(still, s)
	}
	return still
}

// idle sends nothing of its own, and answers.
func (l *loader) idle(hold time.Duration) {
	for end := time.Now().Add(hold); time.Now().Before(end); {
		l.receive(end)
	}
}

// receive waits until the deadline for a datagram and takes it in.
func (l *loader) receive(deadline time.Time) {
	l.conn.SetReadDeadline(deadline)
	n, control, _, err := l.conn.ReadFrom(l.in)
	if err != nil || control == nil {
		return // nothing in time, or a refusal by ICMP: the retransmission decides
	}
	s := l.sessionOf(control.Dst)
	if s == nil {
		return
	}
	l.out = l.out[:0]
	eachSegment(l.in[:n], func(seg segment) { l.take(s, seg) })
	if len(l.out) > 0 {
		l.write(s)
	}
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
		}
		if seg.sn < s.received {
			l.add(s, ack, seg.ts, seg.sn, nil)
		}
	}
}

func (l *loader) sendMessage(s *loadSession, sn uint32) {
	s.sentAt = time.Now()
	s.attempts++
	l.out = l.out[:0]
	l.add(s, push, uint32(time.Since(l.start).Milliseconds()), sn, message(s, sn))
	l.write(s)
}

// message is what a session sends as its message sn: no two are equal.
func message(s *loadSession, sn uint32) []byte {
	return fmt.Appendf(nil, "%v %d %d", s.source, s.conv, sn)
}

// add appends a segment to the datagram that is being made.
func (l *loader) add(s *loadSession, cmd byte, ts, sn uint32, payload []byte) {
	const window = 128
	l.out = binary.LittleEndian.AppendUint32(l.out, s.conv)
	l.out = append(l.out, cmd, 0)
	l.out = binary.LittleEndian.AppendUint16(l.out, window)
	l.out = binary.LittleEndian.AppendUint32(l.out, ts)
	l.out = binary.LittleEndian.AppendUint32(l.out, sn)
	l.out = binary.LittleEndian.AppendUint32(l.out, s.received)
	l.out = binary.LittleEndian.AppendUint32(l.out, uint32(len(payload)))
	l.out = append(l.out, payload...)
}

// write sends the datagram from the session's address. One that cannot be sent counts as lost.
func (l *loader) write(s *loadSession) {
	l.conn.WriteTo(l.out, &ipv4.ControlMessage{Src: s.source}, l.remote)
}
