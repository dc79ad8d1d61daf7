package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
)

const chunkBytes = 64 << 10

func echoServer(flags *flag.FlagSet, args []string) error {
	var s kcpgo.Settings
	address := flags.String("listen", "127.0.0.1:0",
		"`address` to listen on; port 0 lets the system choose")
	count := flags.Int("count", 0, "exit after so many `sessions` have ended; 0: never")
	quiet := flags.Duration("quiet", time.Minute,
		"a session without traffic for this `time` has ended")
	untilEOF := flags.Bool("exit-on-eof", false, "exit when standard input ends")
	s.SessionFlags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.CheckSession()); err != nil {
		return err
	}
	if *untilEOF {
		kcpgo.ExitOnEOF()
	}
	return s.Serve(*address, *count, func(session *kcp.UDPSession) {
		if s.DataShards > 0 {
			echoOOB(session)
		}
		echo(session, *quiet)
	})
}

func echo(session *kcp.UDPSession, quiet time.Duration) {
	var received atomic.Int64
	go kcpgo.CloseWhenQuiet(session, &received, quiet)
	chunk := make([]byte, chunkBytes)
	for {
		n, err := session.Read(chunk)
		if err != nil {
			return
		}
		received.Add(int64(n))
		if _, err := session.Write(chunk[:n]); err != nil {
			return
		}
	}
}

type echoResult struct {
	Sessions int     `json:"sessions"`
	Failures int     `json:"failures"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	MBps     float64 `json:"mb_s"`
	kcpgo.Counters
}

// A ratioChange happens when the first half of the echo has arrived. Its zero value is no change.
type ratioChange struct {
	dataShards, parityShards int
	pause                    time.Duration
}

func (c *ratioChange) flags(flags *flag.FlagSet) {
	flags.IntVar(&c.dataShards, "then-datashard", 0,
		"change the FEC ratio half-way: data packets of a `group`; 0: no change")
	flags.IntVar(&c.parityShards, "then-parityshard", 0, "parity packets of a `group` then")
	flags.DurationVar(&c.pause, "then-after", 0, "`pause` half-way, before the change")
}

func (c *ratioChange) check(s *kcpgo.Settings) error {
	if *c == (ratioChange{}) {
		return nil
	}
	if s.DataShards == 0 {
		return cli.UsageErrorf("--then-datashard: there is no FEC to change")
	}
	return kcpgo.CheckRatio(c.dataShards, c.parityShards)
}

func echoClient(flags *flag.FlagSet, args []string) error {
	var s kcpgo.Settings
	remote := flags.String("remote", "", "`address` of the server")
	size := flags.Int64("bytes", 1<<20, "`bytes` to send in each session")
	sessions := flags.Int("sessions", 1, "concurrent `sessions`, each with its own socket and conv")
	timeout := flags.Duration("timeout", time.Minute, "give up after this `time`")
	var change ratioChange
	change.flags(flags)
	s.SessionFlags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.CheckSession(), change.check(&s)); err != nil {
		return err
	}
	if *remote == "" {
		return cli.UsageErrorf("--remote is missing")
	}

	start := time.Now()
	errs := make([]error, *sessions)
	var clients sync.WaitGroup
	for i := range errs {
		clients.Add(1)
		go func() {
			defer clients.Done()
			errs[i] = checkEcho(&s, &change, *remote, *size, uint64(i), start.Add(*timeout))
		}()
	}
	clients.Wait()

	result := echoResult{Sessions: *sessions}
	for _, err := range errs {
		if err != nil {
			result.Failures++
		} else {
			result.Bytes += *size
		}
	}
	result.Seconds = time.Since(start).Seconds()
	result.MBps = float64(result.Bytes) / 1e6 / result.Seconds
	result.Counters = kcpgo.CountersNow()
	return errors.Join(append(errs, cli.PrintJSON(result))...)
}

// checkEcho sends size bytes of the pseudo-random stream of a seed and compares the echo with it.
func checkEcho(
	s *kcpgo.Settings, change *ratioChange,
	remote string, size int64, seed uint64, deadline time.Time,
) error {
	session, err := s.Dial(remote)
	if err != nil {
		return err
	}
	defer session.Close()
	defer s.Linger()
	session.SetDeadline(deadline)

	sent, expected := randomStream(seed), randomStream(seed)
	first := size
	if change.dataShards != 0 {
		first = size / 2
	}
	if err := exchange(session, sent, expected, first); err != nil {
		return fmt.Errorf("session %d: %w", seed, err)
	}
	if first == size {
		return nil
	}
	fmt.Println("half-way")
	time.Sleep(change.pause)
	if err := changeRatio(session, change.dataShards, change.parityShards); err != nil {
		return err
	}
	if err := exchange(session, sent, expected, size-first); err != nil {
		return fmt.Errorf("session %d, with the ratio changed: %w", seed, err)
	}
	return nil
}

// exchange sends size bytes and waits for their echo.
func exchange(peer io.ReadWriter, sent, expected io.Reader, size int64) error {
	written := make(chan error, 1)
	go func() {
		chunk := make([]byte, max(min(size, chunkBytes), 1))
		_, err := io.CopyBuffer(peer, io.LimitReader(sent, size), chunk)
		written <- err
	}()
	if err := compare(peer, expected, size); err != nil {
		return err
	}
	return <-written
}

func compare(got, want io.Reader, size int64) error {
	chunk := min(size, chunkBytes)
	gotChunk, wantChunk := make([]byte, chunk), make([]byte, chunk)
	for at := int64(0); at < size; {
		n := min(size-at, chunkBytes)
		got1, err := got.Read(gotChunk[:n])
		if err != nil {
			return fmt.Errorf("after %d of %d bytes: %w", at, size, err)
		}
		io.ReadFull(want, wantChunk[:got1])
		if !bytes.Equal(gotChunk[:got1], wantChunk[:got1]) {
			return fmt.Errorf("the echo differs within %d bytes after byte %d", got1, at)
		}
		at += int64(got1)
	}
	return nil
}

func randomStream(seed uint64) io.Reader {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}
