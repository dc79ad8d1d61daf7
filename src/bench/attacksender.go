package main

import (
	"bytes"
	crand "crypto/rand"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"golang.org/x/net/ipv4"
)

const (
	junkBytes = 100
	pushEnd   = headerBytes + pingBytes
	catchUp   = 2 * time.Millisecond
)

// offer is an offer of the extension, whose last eight bytes are the token: protocol.md 13.
const offer = "K\x01\x01\x08\x00--------"

// floodSettings say what a flood consists of.
type floodSettings struct {
	kind     string
	rate     int
	duration time.Duration
}

func (s *floodSettings) flags(flags *flag.FlagSet) {
	flags.StringVar(&s.kind, "kind", "segments",
		"segments: first segments of new sessions; offers: the same with an offer of the extension; "+
			"junk: random bytes, to a server with an AEAD; of attack-memory: "+
			strings.Join(memoryKinds(), ", "))
	flags.IntVar(&s.rate, "rate", 100_000, "`datagrams` per second")
	flags.DurationVar(&s.duration, "time", 10*time.Second, "`time` of the flood")
}

// attackSender sends a flood, and prints how many datagrams it has sent per second.
func attackSender(flags *flag.FlagSet, args []string) error {
	var of floodSettings
	of.flags(flags)
	remote := flags.String("remote", "", "the `address` that is flooded")
	if err := cli.Parse(flags, args); err != nil {
		return err
	}
	flood, err := newFlooder(*remote, of.kind)
	if err != nil {
		return err
	}
	defer flood.conn.Close()
	sent := flood.run(of.rate, time.Now().Add(of.duration))
	_, err = fmt.Println(float64(sent) / of.duration.Seconds())
	return err
}

// A flooder sends datagrams from random addresses of 127.0.0.0/8, in batches.
type flooder struct {
	conn     *ipv4.PacketConn
	kind     string
	out      []ipv4.Message
	sourceAt int // where the control messages have the source address
	random   *rand.ChaCha8

	// Of an attack on memory, whose sessions have several datagrams:
	memory  *memoryAttack
	source  uint64
	session datagram
	next    int // the datagram of the session that is sent next
}

func newFlooder(remote, kind string) (*flooder, error) {
	remoteAddress, err := net.ResolveUDPAddr("udp4", remote)
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil, err
	}
	var seed [32]byte
	crand.Read(seed[:])
	f := &flooder{conn: ipv4.NewPacketConn(conn), kind: kind, out: make([]ipv4.Message, batch),
		random: rand.NewChaCha8(seed), memory: memoryAttacks[kind]}
	size := map[string]int{"segments": pushEnd, "offers": pushEnd + headerBytes + len(offer),
		"junk": junkBytes}[kind]
	source := net.IPv4(127, 2, 0, 1).To4()
	for i := range f.out {
		f.out[i].Buffers = [][]byte{make([]byte, size)}
		f.out[i].Addr = remoteAddress
		f.out[i].OOB = (&ipv4.ControlMessage{Src: source}).Marshal()
	}
	f.sourceAt = bytes.Index(f.out[0].OOB, source)
	return f, kcpgo.SetBuffers(conn, 4<<20)
}

// run returns how many datagrams have been sent. One that is late by more than catchUp is not sent:
// all of them would arrive as a burst that no link at this rate brings.
func (f *flooder) run(rate int, end time.Time) int {
	lockPreciseThread()
	sent := 0
	start, sentSinceStart := time.Now(), 0
	for now := start; now.Before(end); now = time.Now() {
		next := start.Add(time.Duration(sentSinceStart+batch) * time.Second / time.Duration(rate))
		if now.Before(next) {
			sleepUntil(next)
			continue
		}
		if now.Sub(next) > catchUp {
			start, sentSinceStart = now.Add(-catchUp), 0
		}
		for i := range f.out {
			f.renew(&f.out[i])
		}
		n, err := f.conn.WriteBatch(f.out, 0)
		if err != nil {
			n = max(n, 0)
		}
		sent += n
		sentSinceStart += n
	}
	return sent
}

// renew gives a datagram another source, and other content.
func (f *flooder) renew(m *ipv4.Message) {
	if f.memory != nil {
		f.renewSession(m)
		return
	}
	source := f.random.Uint64()
	f.setSource(m, source)
	datagram := m.Buffers[0]
	if f.kind == "junk" {
		f.random.Read(datagram)
		return
	}
	conv := uint32(source>>40) | 1
	putHeader(datagram, conv, push, uint32(source), pingBytes)
	if f.kind == "offers" {
		putHeader(datagram[pushEnd:], conv, wins, uint32(source), len(offer))
		message := datagram[pushEnd+headerBytes:]
		copy(message, offer)
		binary.LittleEndian.PutUint64(message[len(offer)-8:], f.random.Uint64())
	}
}

func (f *flooder) setSource(m *ipv4.Message, source uint64) {
	copy(m.OOB[f.sourceAt:], []byte{
		127, byte(2 + source%250), byte(source >> 16), byte(1 + source>>32%254)})
}

// renewSession makes a datagram the next one of its session, or the first one of another.
func (f *flooder) renewSession(m *ipv4.Message) {
	if f.next == 0 {
		f.source = f.random.Uint64()
		f.session.conv = uint32(f.source>>40) | 1
	}
	f.setSource(m, f.source)
	f.session.bytes = m.Buffers[0][:0]
	f.memory.write(&f.session, f.next)
	m.Buffers[0] = f.session.bytes
	f.next = (f.next + 1) % f.memory.datagrams
}

// putHeader writes the header of a segment with sequence number 0.
func putHeader(segment []byte, conv uint32, cmd byte, ts uint32, payload int) {
	binary.LittleEndian.PutUint32(segment, conv)
	segment[4] = cmd
	binary.LittleEndian.PutUint16(segment[6:], 128)
	binary.LittleEndian.PutUint32(segment[8:], ts)
	binary.LittleEndian.PutUint32(segment[20:], uint32(payload))
}
