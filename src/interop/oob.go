package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
)

const (
	oobIndexBytes = 4
	oobPace       = 500 * time.Microsecond
	pollTime      = 20 * time.Millisecond
)

// echoOOB sends out-of-band packets back as such. It must be set before the peer sends one.
func echoOOB(session *kcp.UDPSession) error {
	return session.SetOOBHandler(func(payload []byte) { session.SendOOB(payload) })
}

type oobResult struct {
	Sent     int     `json:"sent"`
	Returned int     `json:"returned"` // without duplicates
	Again    int     `json:"again"`    // duplicates
	Wrong    int     `json:"wrong"`
	Seconds  float64 `json:"seconds"`
	kcpgo.Counters
}

func oobClient(flags *flag.FlagSet, args []string) error {
	var s kcpgo.Settings
	remote := flags.String("remote", "", "`address` of the server")
	packets := flags.Int("packets", 1000, "how many `packets` to send, of all sizes")
	atLeast := flags.Int("at-least", 0, "how many `packets` have to be echoed; 0: all of them")
	quiet := flags.Duration("quiet", time.Second, "stop waiting after this `time` without any")
	timeout := flags.Duration("timeout", time.Minute, "give up after this `time`")
	s.SessionFlags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.CheckSession()); err != nil {
		return err
	}
	if *remote == "" {
		return cli.UsageErrorf("--remote is missing")
	}
	if s.DataShards == 0 {
		return cli.UsageErrorf(
			"--datashard and --parityshard are missing: out-of-band packets need FEC")
	}
	if *packets < 1 || *atLeast < 0 || *atLeast > *packets {
		return cli.UsageErrorf(
			"--packets %d, --at-least %d: expected at least 1 packet, and --at-least up to --packets",
			*packets, *atLeast)
	}
	if *atLeast == 0 {
		*atLeast = *packets
	}
	session, err := s.Dial(*remote)
	if err != nil {
		return err
	}
	defer session.Close()
	start := time.Now()
	session.SetDeadline(start.Add(*timeout))
	check := newOOBCheck(*packets, session.GetOOBMaxSize())
	if err := session.SetOOBHandler(check.received); err != nil {
		return err
	}
	// The peer needs the session before it accepts out-of-band packets of it.
	if err := exchange(session, randomStream(0), randomStream(0), 1); err != nil {
		return err
	}
	if err := check.send(session); err != nil {
		return err
	}
	check.wait(*quiet, start.Add(*timeout))
	return check.report(*atLeast, time.Since(start))
}

// An oobCheck counts the packets that are echoed. The lock guards the counts.
type oobCheck struct {
	maxBytes int

	mu       sync.Mutex
	times    []int // how often each packet has been echoed
	wrong    int
	latestAt time.Time
}

func newOOBCheck(packets, maxBytes int) *oobCheck {
	return &oobCheck{maxBytes: maxBytes, times: make([]int, packets)}
}

// packet begins with its index. Sizes ascend for even indices and descend for odd ones.
func (c *oobCheck) packet(i int) []byte {
	span := c.maxBytes - oobIndexBytes
	size := oobIndexBytes + i/2*37%(span+1)
	if i%2 == 1 {
		size = c.maxBytes - i/2*37%(span+1)
	}
	packet := make([]byte, size)
	io.ReadFull(randomStream(uint64(i)), packet)
	binary.LittleEndian.PutUint32(packet, uint32(i))
	return packet
}

func (c *oobCheck) send(session *kcp.UDPSession) error {
	for i := range c.times {
		if err := session.SendOOB(c.packet(i)); err != nil {
			return err
		}
		time.Sleep(oobPace)
	}
	return nil
}

func (c *oobCheck) received(packet []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latestAt = time.Now()
	if len(packet) < oobIndexBytes {
		c.wrong++
		return
	}
	i := binary.LittleEndian.Uint32(packet)
	if i >= uint32(len(c.times)) || !bytes.Equal(packet, c.packet(int(i))) {
		c.wrong++
		return
	}
	c.times[i]++
}

// wait returns when all packets have been echoed, or none has been for the quiet time.
func (c *oobCheck) wait(quiet time.Duration, deadline time.Time) {
	c.mu.Lock()
	c.latestAt = time.Now()
	c.mu.Unlock()
	for time.Now().Before(deadline) {
		c.mu.Lock()
		returned, _ := c.counts()
		latestAt := c.latestAt
		c.mu.Unlock()
		if returned == len(c.times) || time.Since(latestAt) > quiet {
			return
		}
		time.Sleep(pollTime)
	}
}

func (c *oobCheck) counts() (returned, again int) {
	for _, times := range c.times {
		if times > 0 {
			returned++
			again += times - 1
		}
	}
	return returned, again
}

func (c *oobCheck) report(atLeast int, elapsed time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	result := oobResult{
		Sent: len(c.times), Wrong: c.wrong, Seconds: elapsed.Seconds(),
		Counters: kcpgo.CountersNow()}
	result.Returned, result.Again = c.counts()
	if err := cli.PrintJSON(result); err != nil {
		return err
	}
	if result.Wrong > 0 || result.Returned < atLeast {
		return fmt.Errorf("%d of %d packets were echoed, and %d differ from those sent",
			result.Returned, result.Sent, result.Wrong)
	}
	return nil
}
