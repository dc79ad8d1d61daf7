package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
)

const (
	headerBytes  = kcp.IKCP_OVERHEAD
	maxFragments = 255
)

// A messagePeer drives one of kcp-go's raw KCP objects, which cuts messages into fragments as C
// KCP does. The lock guards all of it: KCP itself has none.
type messagePeer struct {
	mu       sync.Mutex
	kcp      *kcp.KCP
	buffer   []byte
	received func(message []byte) // called with the lock held
}

func newMessagePeer(s *kcpgo.Settings, conv uint32, output func(datagram []byte)) *messagePeer {
	p := &messagePeer{buffer: make([]byte, maxFragments*s.MTU)}
	p.kcp = kcp.NewKCP(conv, func(buf []byte, size int) {
		if size >= headerBytes {
			output(buf[:size])
		}
	})
	p.kcp.NoDelay(s.NoDelay, s.Interval, s.Resend, s.NC)
	p.kcp.WndSize(s.SndWnd, s.RcvWnd)
	p.kcp.SetMtu(s.MTU)
	return p
}

// input processes a datagram and delivers the messages that it completes.
func (p *messagePeer) input(datagram []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kcp.Input(datagram, kcp.IKCP_PACKET_REGULAR, false)
	for n := p.kcp.Recv(p.buffer); n >= 0; n = p.kcp.Recv(p.buffer) {
		p.received(p.buffer[:n])
	}
}

func (p *messagePeer) send(message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status := p.kcp.Send(message); status != 0 {
		return fmt.Errorf("cannot send a message of %d bytes: status %d", len(message), status)
	}
	return nil
}

// tick updates the session until done is closed, more often than Update needs to.
func (p *messagePeer) tick(done <-chan struct{}) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			p.mu.Lock()
			p.kcp.Update()
			p.mu.Unlock()
		}
	}
}

func messageServer(flags *flag.FlagSet, args []string) error {
	var s kcpgo.Settings
	address := flags.String("listen", "127.0.0.1:0",
		"`address` to listen on; port 0 lets the system choose")
	untilEOF := flags.Bool("exit-on-eof", false, "exit when standard input ends")
	s.ARQFlags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.CheckARQ()); err != nil {
		return err
	}
	if *untilEOF {
		kcpgo.ExitOnEOF()
	}
	udpAddress, err := net.ResolveUDPAddr("udp", *address)
	if err != nil {
		return err
	}
	conn, err := net.ListenUDP("udp", udpAddress)
	if err != nil {
		return err
	}
	if err := kcpgo.SetBuffers(conn, s.SockBuf); err != nil {
		return err
	}
	fmt.Printf("listening %v\n", conn.LocalAddr())
	return echoMessages(&s, conn)
}

// A path identifies a peer of the server.
type path struct {
	remote netip.AddrPort
	conv   uint32
}

func echoMessages(s *kcpgo.Settings, conn *net.UDPConn) error {
	peers := make(map[path]*messagePeer)
	datagram := make([]byte, s.MTU+1)
	for {
		n, remote, err := conn.ReadFromUDPAddrPort(datagram)
		if err != nil {
			return err
		}
		if n < headerBytes {
			continue
		}
		key := path{remote, binary.LittleEndian.Uint32(datagram)}
		peer := peers[key]
		if peer == nil {
			peer = newMessagePeer(s, key.conv, func(datagram []byte) {
				conn.WriteToUDPAddrPort(datagram, remote)
			})
			peer.received = func(message []byte) { peer.kcp.Send(message) }
			peers[key] = peer
			go peer.tick(nil)
		}
		peer.input(datagram[:n])
	}
}

type messageResult struct {
	Messages      int     `json:"messages"`
	Bytes         int     `json:"bytes"`
	Seconds       float64 `json:"seconds"`
	Retransmitted uint64  `json:"retransmitted"`
}

func messageClient(flags *flag.FlagSet, args []string) error {
	var s kcpgo.Settings
	remote := flags.String("remote", "", "`address` of the server")
	conv := flags.Uint("conv", 0, "conversation `id`; 0: a random one")
	fragments := flags.Int("fragments", 30,
		"the largest message, in `segments`; both receive windows must have room for it")
	rounds := flags.Int("rounds", 10, "how often to send a message of each size")
	inFlight := flags.Int("in-flight", 8, "how many messages may be in flight")
	timeout := flags.Duration("timeout", time.Minute, "give up after this `time`")
	s.ARQFlags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.CheckARQ()); err != nil {
		return err
	}
	if *remote == "" {
		return cli.UsageErrorf("--remote is missing")
	}
	if *fragments < 1 || *fragments > maxFragments {
		return cli.UsageErrorf("--fragments %d: expected 1 to %d", *fragments, maxFragments)
	}
	conn, err := net.Dial("udp", *remote)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := kcpgo.SetBuffers(conn.(*net.UDPConn), s.SockBuf); err != nil {
		return err
	}
	if *conv == 0 {
		*conv = uint(1 + rand.Uint32N(1<<32-1))
	}
	check := newMessageCheck(messageSizes(s.MTU-headerBytes, *fragments, *rounds), *inFlight)
	peer := newMessagePeer(&s, uint32(*conv), func(datagram []byte) { conn.Write(datagram) })
	peer.received = check.received
	return check.run(peer, conn, *timeout, s.Linger)
}

// messageSizes are sizes around multiples of a fragment, and random ones, in random order.
func messageSizes(mss, fragments, rounds int) []int {
	var sizes []int
	for range rounds {
		sizes = append(sizes, 1, 2)
		for n := 1; n <= fragments; n = 2*n + 1 {
			sizes = append(sizes, n*mss-1, n*mss, min(n*mss+1, fragments*mss), 1+rand.IntN(n*mss))
		}
		sizes = append(sizes, fragments*mss)
	}
	rand.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	return sizes
}

// A messageCheck compares the echoes with the messages sent, in order.
type messageCheck struct {
	sizes   []int
	slots   chan struct{} // one for each message in flight
	results chan error

	// Only received uses these.
	next  int
	bytes int
}

func newMessageCheck(sizes []int, inFlight int) *messageCheck {
	return &messageCheck{
		sizes: sizes, slots: make(chan struct{}, inFlight), results: make(chan error, 1)}
}

// run drives the peer until all echoes have arrived and linger has returned.
func (c *messageCheck) run(
	peer *messagePeer, conn net.Conn, timeout time.Duration, linger func(),
) error {
	start := time.Now()
	done := make(chan struct{})
	defer close(done)
	go peer.tick(done)
	go c.receive(peer, conn)
	go c.send(peer, done)

	select {
	case err := <-c.results:
		if err != nil {
			return err
		}
	case <-time.After(timeout):
		return fmt.Errorf("not all messages were echoed within %v", timeout)
	}
	seconds := time.Since(start).Seconds()
	linger()
	return cli.PrintJSON(messageResult{
		len(c.sizes), c.bytes, seconds, kcp.DefaultSnmp.Copy().RetransSegs})
}

func (c *messageCheck) send(peer *messagePeer, done <-chan struct{}) {
	for i := range c.sizes {
		select {
		case c.slots <- struct{}{}:
		case <-done:
			return
		}
		if err := peer.send(c.message(i)); err != nil {
			c.report(err)
			return
		}
	}
}

func (c *messageCheck) receive(peer *messagePeer, conn net.Conn) {
	datagram := make([]byte, 2048)
	for {
		n, err := conn.Read(datagram)
		if err != nil {
			c.report(err)
			return
		}
		peer.input(datagram[:n])
	}
}

func (c *messageCheck) received(message []byte) {
	if c.next == len(c.sizes) {
		c.report(fmt.Errorf("a message of %d bytes that was not sent", len(message)))
		return
	}
	if want := c.message(c.next); !bytes.Equal(message, want) {
		c.report(fmt.Errorf("message %d: the %d bytes received are not the %d bytes sent",
			c.next, len(message), len(want)))
		return
	}
	c.bytes += len(message)
	c.next++
	<-c.slots
	if c.next == len(c.sizes) {
		c.report(nil)
	}
}

// report passes the first result to run and drops any further one.
func (c *messageCheck) report(err error) {
	select {
	case c.results <- err:
	default:
	}
}

func (c *messageCheck) message(i int) []byte {
	message := make([]byte, c.sizes[i])
	io.ReadFull(randomStream(uint64(i)), message)
	return message
}
