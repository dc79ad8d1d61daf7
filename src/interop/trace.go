package main

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/xtaci/kcp-go/v5"
)

const traceFormat = `# What sessions of kcp-go v5.6.72 write, given what they receive, in virtual time: NoDelay(1, interval, 2, 1),
# windows of 1024 segments, MTU 1400, stream mode. Written by "interop trace".
# "session NAME INTERVAL_MS", then for each side "side NAME" and lines that begin with the time in microseconds:
# "write BYTES", "in SEGMENTS" and "out SEGMENTS", one datagram each. A segment is the command (P push, A ack,
# Q window probe, T window), sn, ts, una, wnd and len; sn and ts of Q and T have no meaning. A session reads and
# flushes nothing but what it flushes itself; a write is flushed.`

// A traceCase is a conversation: in each tick the client writes some bytes, which the server may
// echo.
type traceCase struct {
	name       string
	intervalMs int
	tickUs     int64
	tickBytes  int
	echoes     bool
	loss       float64
	jitterUs   int64
	endUs      int64
}

var traceCases = []traceCase{
	{"game", 10, 16_667, 2500, true, 0.05, 4_000, 2_500_000},
	{"stream", 40, 3_467, 1300, false, 0.02, 5_000, 1_500_000},
	{"fast-stream", 40, 433, 1300, false, 0.005, 1_000, 200_000},
}

const traceDelayUs = 10_000

// trace runs kcp-go's state machine, driven as its sessions drive it, and prints what it does.
func trace(flags *flag.FlagSet, args []string) error {
	if err := cli.Parse(flags, args); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, traceFormat)
	for seed, c := range traceCases {
		lines, err := c.run(uint64(seed))
		for retries := 0; err != nil && retries < 100; retries++ {
			lines, err = c.run(uint64(seed))
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "session %s %d\n%s", c.name, c.intervalMs, lines)
	}
	traceFEC(out)
	return out.Flush()
}

// run returns what both sides do; the same seed gives the same run.
func (c traceCase) run(seed uint64) (string, error) {
	r := &traceRun{traceCase: c, random: rand.New(rand.NewPCG(seed, 1))}
	client, server := newTraced(r), newTraced(r)
	client.peer, server.peer = server, client
	server.isEcho = c.echoes
	client.at(0, client.update)
	server.at(0, server.update)
	client.at(500, client.tick)
	for r.events.Len() > 0 {
		e := heap.Pop(&r.events).(traceEvent)
		if e.atUs > c.endUs {
			break
		}
		r.nowUs = e.atUs
		if err := r.inVirtualTime(e.run); err != nil {
			return "", err
		}
	}
	return "side client\n" + client.lines.String() + "side server\n" + server.lines.String(), nil
}

type traceEvent struct {
	atUs   int64
	number int
	run    func()
}

type traceEvents []traceEvent

func (q traceEvents) Len() int { return len(q) }
func (q traceEvents) Less(i, j int) bool {
	return q[i].atUs < q[j].atUs || q[i].atUs == q[j].atUs && q[i].number < q[j].number
}
func (q traceEvents) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *traceEvents) Push(e any)   { *q = append(*q, e.(traceEvent)) }
func (q *traceEvents) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// A traceRun is the virtual time of both sides.
type traceRun struct {
	traceCase
	random *rand.Rand
	events traceEvents
	made   int
	nowUs  int64
}

// kcp-go counts its milliseconds from here.
//
//go:linkname refTime github.com/xtaci/kcp-go/v5.refTime
var refTime time.Time

// inVirtualTime runs f at the begin of a millisecond of kcp-go's clock, which must not end meanwhile.
func (r *traceRun) inVirtualTime(f func()) error {
	ms := time.Duration(r.nowUs/1000) * time.Millisecond
	refTime = time.Now().Add(-ms)
	f()
	if time.Since(refTime) >= ms+time.Millisecond {
		return errors.New("a step took more than a millisecond")
	}
	return nil
}

// A traced session is kcp-go's state machine, driven as UDPSession does.
type traced struct {
	*traceRun
	kcp    *kcp.KCP
	peer   *traced
	isEcho bool
	lines  strings.Builder
	buffer [1500]byte
}

func newTraced(r *traceRun) *traced {
	s := &traced{traceRun: r}
	s.kcp = kcp.NewKCP(1, s.send)
	s.kcp.NoDelay(1, r.intervalMs, 2, 1)
	s.kcp.WndSize(1024, 1024)
	stream := reflect.ValueOf(s.kcp).Elem().FieldByName("stream")
	*(*int32)(unsafe.Pointer(stream.UnsafeAddr())) = 1
	return s
}

//go:linkname flushKCP github.com/xtaci/kcp-go/v5.(*KCP).flush
func flushKCP(k *kcp.KCP, kind kcp.FlushType) uint32

func (s *traced) at(us int64, run func()) {
	s.made++
	heap.Push(&s.events, traceEvent{us, s.made, run})
}

func (s *traced) update() {
	waitMs := flushKCP(s.kcp, kcp.IKCP_FLUSH_FULL)
	s.at(s.nowUs+int64(waitMs)*1000, s.update)
}

func (s *traced) tick() {
	s.write(make([]byte, s.tickBytes))
	s.at(s.nowUs+s.tickUs, s.tick)
}

func (s *traced) write(data []byte) {
	s.record("write %d", len(data))
	mss := 1400 - headerBytes
	for ; len(data) > mss; data = data[mss:] {
		s.kcp.Send(data[:mss])
	}
	s.kcp.Send(data)
	flushKCP(s.kcp, kcp.IKCP_FLUSH_FULL)
}

func (s *traced) send(buf []byte, size int) {
	s.record("out%s", segmentsOf(buf[:size]))
	if s.random.Float64() < s.loss {
		return
	}
	datagram := append([]byte(nil), buf[:size]...)
	us := s.nowUs + traceDelayUs + s.random.Int64N(s.jitterUs)
	if us%1000 == 0 { // Not at the same time as a timer.
		us++
	}
	s.at(us, func() { s.peer.input(datagram) })
}

func (s *traced) input(datagram []byte) {
	s.record("in%s", segmentsOf(datagram))
	s.kcp.Input(datagram, kcp.IKCP_PACKET_REGULAR, false)
	var echo []byte
	for s.kcp.PeekSize() > 0 {
		n := s.kcp.Recv(s.buffer[:])
		echo = append(echo, s.buffer[:n]...)
	}
	if s.isEcho && len(echo) > 0 {
		s.write(echo)
	}
}

func (s *traced) record(format string, value any) {
	fmt.Fprintf(&s.lines, "%d "+format+"\n", s.nowUs, value)
}

func segmentsOf(datagram []byte) string {
	var text strings.Builder
	for len(datagram) >= headerBytes {
		u32 := func(offset int) uint32 { return binary.LittleEndian.Uint32(datagram[offset:]) }
		length := u32(20)
		fmt.Fprintf(&text, " %c,%d,%d,%d,%d,%d", "PAQT"[datagram[4]-kcp.IKCP_CMD_PUSH],
			u32(12), u32(8), u32(16), binary.LittleEndian.Uint16(datagram[6:]), length)
		datagram = datagram[headerBytes+int(length):]
	}
	return text.String()
}
