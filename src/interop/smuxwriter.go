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

// smuxWriters write to streams until they are done, or the stream fails. A goroutine that smux does
// not let return is blocked.
type smuxWriters struct {
	limit int64
	read  bool

	started, running, bytes atomic.Int64
}

func (w *smuxWriters) flags(flags *flag.FlagSet) {
	flags.Int64Var(&w.limit, "bytes", 0,
		"close each stream when so many `bytes` have been written; 0: write until that fails")
	flags.BoolVar(&w.read, "read", true,
		"read streams meanwhile, and close each when its peer ends it; otherwise never read")
}

type smuxWritersResult struct {
	Writers int64 `json:"writers"`
	Blocked int64 `json:"blocked"`
	Bytes   int64 `json:"bytes"` // written
	kcpgo.Counters
}

func (w *smuxWriters) report() smuxWritersResult {
	return smuxWritersResult{
		w.started.Load(), w.running.Load(), w.bytes.Load(), kcpgo.CountersNow()}
}

// start starts a writer. It calls writing when something has been written.
func (w *smuxWriters) start(stream *smux.Stream, writing func()) {
	w.started.Add(1)
	w.running.Add(1)
	if w.read {
		go func() {
			io.Copy(io.Discard, stream)
			stream.Close()
		}()
	}
	go func() {
		defer w.running.Add(-1)
		defer stream.Close()
		w.write(stream, sync.OnceFunc(writing))
	}()
}

func (w *smuxWriters) write(stream *smux.Stream, writing func()) {
	chunk := make([]byte, chunkBytes)
	for written := int64(0); w.limit == 0 || written < w.limit; {
		if w.limit > 0 {
			chunk = chunk[:min(w.limit-written, chunkBytes)]
		}
		n, err := stream.Write(chunk)
		w.bytes.Add(int64(n))
		written += int64(n)
		if err != nil {
			return
		}
		writing()
	}
}

func smuxWriterServer(flags *flag.FlagSet, args []string) error {
	var s smuxSettings
	var w smuxWriters
	address := flags.String("listen", "127.0.0.1:0",
		"`address` to listen on; port 0 lets the system choose")
	grace := flags.Duration("grace", 5*time.Second,
		"`time` that writers have to return after standard input has ended")
	untilEOF := flags.Bool("exit-on-eof", false, "exit when standard input ends")
	w.flags(flags)
	s.flags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.check()); err != nil {
		return err
	}
	if *untilEOF {
		cli.ExitOnEOF(func() any {
			awaitNone(&w.running, *grace)
			return w.report()
		})
	}
	return s.serve(*address, func(session *smux.Session) {
		for {
			stream, err := session.AcceptStream()
			if err != nil {
				return
			}
			w.start(stream, func() {})
		}
	})
}

func smuxWriterClient(flags *flag.FlagSet, args []string) error {
	var s smuxSettings
	var w smuxWriters
	remote := flags.String("remote", "", "`address` of the server")
	streams := flags.Int("streams", 1, "concurrent `streams`")
	timeout := flags.Duration("timeout", time.Minute, "writers are blocked after this `time`")
	w.flags(flags)
	s.flags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.check()); err != nil {
		return err
	}
	if *remote == "" {
		return cli.UsageErrorf("--remote is missing")
	}
	session, err := s.dial(*remote)
	if err != nil {
		return err
	}
	defer s.hangUp(session)
	var idle atomic.Int64
	idle.Store(int64(*streams))
	for range *streams {
		stream, err := session.OpenStream()
		if err != nil {
			return err
		}
		w.start(stream, func() {
			if idle.Add(-1) == 0 {
				fmt.Println("writing")
			}
		})
	}
	awaitNone(&w.running, *timeout)
	result := w.report()
	if err := cli.PrintJSON(result); err != nil {
		return err
	}
	if result.Blocked > 0 {
		return fmt.Errorf("%d of %d writers are blocked", result.Blocked, result.Writers)
	}
	return nil
}
