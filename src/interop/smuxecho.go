package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/smux"
)

// A smuxEcho answers streams.
type smuxEcho struct {
	unread     int
	closeAfter int64
	streams    atomic.Int64
	answering  atomic.Int64
	mu         sync.Mutex
	sessions   []*smux.Session
}

func smuxServer(flags *flag.FlagSet, args []string) error {
	var s smuxSettings
	var e smuxEcho
	address := flags.String("listen", "127.0.0.1:0",
		"`address` to listen on; port 0 lets the system choose")
	flags.IntVar(&e.unread, "unread", 0,
		"never read the first `streams` of a session, and leave them open")
	flags.Int64Var(&e.closeAfter, "close-after", 0,
		"close each stream when so many `bytes` of it have been read; 0: echo until its end")
	grace := flags.Duration("grace", 5*time.Second,
		"`time` that streams have to end after standard input has")
	untilEOF := flags.Bool("exit-on-eof", false, "exit when standard input ends")
	s.flags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.check()); err != nil {
		return err
	}
	if *untilEOF {
		cli.ExitOnEOF(func() any {
			awaitNone(&e.answering, *grace)
			return e.report()
		})
	}
	return s.serve(*address, e.serve)
}

type smuxEchoResult struct {
	Streams int64 `json:"streams"`
	Open    int   `json:"open"` // not closed by both peers, in all sessions
	kcpgo.Counters
}

func (e *smuxEcho) report() smuxEchoResult {
	e.mu.Lock()
	defer e.mu.Unlock()
	result := smuxEchoResult{Streams: e.streams.Load(), Counters: kcpgo.CountersNow()}
	for _, session := range e.sessions {
		result.Open += session.NumStreams()
	}
	return result
}

func (e *smuxEcho) serve(session *smux.Session) {
	e.mu.Lock()
	e.sessions = append(e.sessions, session)
	e.mu.Unlock()
	var unread []*smux.Stream // smux closes accepted streams that are garbage
	for {
		stream, err := session.AcceptStream()
		if err != nil {
			return
		}
		e.streams.Add(1)
		if len(unread) < e.unread {
			unread = append(unread, stream)
			continue
		}
		e.answering.Add(1)
		go func() {
			defer e.answering.Add(-1)
			defer stream.Close()
			e.answer(stream)
		}()
	}
}

func (e *smuxEcho) answer(stream *smux.Stream) {
	if e.closeAfter > 0 {
		io.CopyN(io.Discard, stream, e.closeAfter)
		return
	}
	io.Copy(stream, stream)
}

type smuxClientResult struct {
	Streams  int     `json:"streams"`
	Failures int     `json:"failures"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	kcpgo.Counters
}

func smuxClient(flags *flag.FlagSet, args []string) error {
	var s smuxSettings
	remote := flags.String("remote", "", "`address` of the server")
	streams := flags.Int("streams", 1, "concurrent `streams`, opened at once")
	size := flags.Int64("bytes", 1<<20, "`bytes` to send in each of them")
	unread := flags.Int("unread", 0,
		"before that, open so many `streams`, send a byte in each, and never read them")
	timeout := flags.Duration("timeout", time.Minute, "give up after this `time`")
	s.flags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.check()); err != nil {
		return err
	}
	if *remote == "" {
		return cli.UsageErrorf("--remote is missing")
	}
	start := time.Now()
	session, err := s.dial(*remote)
	if err != nil {
		return err
	}
	defer s.hangUp(session)
	for range *unread {
		if err := openUnread(session); err != nil {
			return err
		}
	}
	errs := checkStreams(session, *streams, *size, start.Add(*timeout))

	result := smuxClientResult{Streams: *streams}
	for _, err := range errs {
		if err != nil {
			result.Failures++
		} else {
			result.Bytes += *size
		}
	}
	result.Seconds = time.Since(start).Seconds()
	result.Counters = kcpgo.CountersNow()
	return errors.Join(append(errs, cli.PrintJSON(result))...)
}

func openUnread(session *smux.Session) error {
	stream, err := session.OpenStream()
	if err != nil {
		return err
	}
	_, err = stream.Write([]byte{0})
	return err
}

// checkStreams returns an error or nil for each stream.
func checkStreams(session *smux.Session, count int, size int64, deadline time.Time) []error {
	errs := make([]error, count)
	var checks sync.WaitGroup
	for i := range errs {
		checks.Add(1)
		go func() {
			defer checks.Done()
			if err := checkStream(session, uint64(i), size, deadline); err != nil {
				errs[i] = fmt.Errorf("stream %d: %w", i, err)
			}
		}()
	}
	checks.Wait()
	return errs
}

// checkStream ends its own direction when it has read the whole echo: smux v1.5.56 discards what is
// unread when both directions have ended.
func checkStream(session *smux.Session, seed uint64, size int64, deadline time.Time) error {
	stream, err := session.OpenStream()
	if err != nil {
		return err
	}
	defer stream.Close()
	stream.SetDeadline(deadline)
	if err := exchange(stream, randomStream(seed), randomStream(seed), size); err != nil {
		return err
	}
	if err := stream.CloseWrite(); err != nil {
		return err
	}
	if _, err := stream.Read(make([]byte, 1)); !isEnd(session, err) {
		return fmt.Errorf("after the echo: %v in place of its end", err)
	}
	return nil
}

// isEnd reports whether a stream whose own direction has ended was ended by the peer, too: a Read
// that waits for the peer's FIN returns io.EOF or, as the runtime chooses, io.ErrClosedPipe.
func isEnd(session *smux.Session, err error) bool {
	return err == io.EOF || err == io.ErrClosedPipe && !session.IsClosed()
}
