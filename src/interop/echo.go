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

	"github.com/xtaci/kcp-go/v5"
)

const chunkBytes = 64 << 10

func echoServer(flags *flag.FlagSet, args []string) error {
	var s settings
	address := flags.String("listen", "127.0.0.1:0", "`address` to listen on; port 0 lets the system choose")
	count := flags.Int("count", 0, "exit after that many `sessions` have ended; 0: never")
	quiet := flags.Duration("quiet", time.Minute, "a session without traffic for this `time` has ended")
	untilEOF := flags.Bool("exit-on-eof", false, "exit when standard input ends")
	s.sessionFlags(flags)
	if err := errors.Join(parse(flags, args), s.check()); err != nil {
		return err
	}
	if *untilEOF {
		exitOnEOF()
	}
	return serve(&s, *address, *count, func(session *kcp.UDPSession) {
		echo(session, *quiet)
	})
}

// serve hands every session to a goroutine of its own; with a count other than 0 it returns when
// so many of them are done.
func serve(s *settings, address string, count int, handle func(*kcp.UDPSession)) error {
	listener, err := s.listen(address)
	if err != nil {
		return err
	}
	var handlers sync.WaitGroup
	defer handlers.Wait()
	for accepted := 0; count == 0 || accepted < count; accepted++ {
		session, err := s.accept(listener)
		if err != nil {
			return err
		}
		handlers.Add(1)
		go func() {
			defer handlers.Done()
			defer session.Close()
			handle(session)
		}()
	}
	return nil
}

func echo(session *kcp.UDPSession, quiet time.Duration) {
	var received atomic.Int64
	go closeWhenQuiet(session, &received, quiet)
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
	Sessions      int     `json:"sessions"`
	Failures      int     `json:"failures"`
	Bytes         int64   `json:"bytes"`
	Seconds       float64 `json:"seconds"`
	MBps          float64 `json:"mb_s"`
	Retransmitted uint64  `json:"retransmitted"`
	Lost          uint64  `json:"lost"`
	Repeated      uint64  `json:"repeated"`
}

func echoClient(flags *flag.FlagSet, args []string) error {
	var s settings
	remote := flags.String("remote", "", "`address` of the server")
	size := flags.Int64("bytes", 1<<20, "`bytes` to send in each session")
	sessions := flags.Int("sessions", 1, "concurrent `sessions`, each with its own socket and conv")
	timeout := flags.Duration("timeout", time.Minute, "give up after this `time`")
	s.sessionFlags(flags)
	if err := errors.Join(parse(flags, args), s.check()); err != nil {
		return err
	}
	if *remote == "" {
		return usageErrorf("--remote is missing")
	}

	start := time.Now()
	errs := make([]error, *sessions)
	var clients sync.WaitGroup
	for i := range errs {
		clients.Add(1)
		go func() {
			defer clients.Done()
			errs[i] = checkEcho(&s, *remote, *size, uint64(i), start.Add(*timeout))
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
	counters := kcp.DefaultSnmp.Copy()
	result.Retransmitted = counters.RetransSegs
	result.Lost = counters.LostSegs
	result.Repeated = counters.RepeatSegs
	return errors.Join(append(errs, printJSON(result))...)
}

// checkEcho sends size bytes of the pseudo-random stream that seed names and compares what comes
// back with it.
func checkEcho(s *settings, remote string, size int64, seed uint64, deadline time.Time) error {
	session, err := s.dial(remote)
	if err != nil {
		return err
	}
	defer session.Close()
	defer s.linger()
	session.SetDeadline(deadline)

	written := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(session, io.LimitReader(randomStream(seed), size), make([]byte, chunkBytes))
		written <- err
	}()
	if err := compare(session, randomStream(seed), size); err != nil {
		return fmt.Errorf("session %d: %w", seed, err)
	}
	return <-written
}

func compare(got, want io.Reader, size int64) error {
	gotChunk, wantChunk := make([]byte, chunkBytes), make([]byte, chunkBytes)
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
