package main

import (
	"flag"
	"io"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/kcp-go/v5"
)

// The modes whose clients send numbered bytes, which the peer checks. The server has the same mode.
const (
	requestsMode = "requests" // messages, each sent when an earlier one is answered by its echo
	writesMode   = "writes"   // messages at a constant rate, which are echoed
	uploadMode   = "upload"   // bytes as fast as possible
)

// answerBytes is what the server of an upload answers when it has all.
const answerBytes = 8

// numberedTraffic is what the clients of these modes send, besides the size and the rate of a game's
// messages. io.kcp4j.load.NumberedTraffic is the same.
type numberedTraffic struct {
	inFlight, pauseMs        int
	uploadBytes, warmUpBytes int64
}

func (t *numberedTraffic) flags(flags *flag.FlagSet) {
	flags.IntVar(&t.inFlight, "in-flight", 1, "`messages` of mode requests without an echo")
	flags.IntVar(&t.pauseMs, "pause", 0, "`ms` before each message of mode requests")
	flags.Int64Var(&t.uploadBytes, "upload-bytes", 0,
		"`bytes` of mode upload, answered when all have arrived; 0: without end")
	flags.Int64Var(&t.warmUpBytes, "warm-up-bytes", 0,
		"`bytes` that a session before that of mode upload sends; 0: there is none")
}

func (t *numberedTraffic) check() error {
	if t.inFlight < 1 || t.pauseMs < 0 || t.uploadBytes < 0 || t.warmUpBytes < 0 {
		return cli.UsageErrorf("--in-flight %d, --pause %d, --upload-bytes %d, --warm-up-bytes %d: "+
			"too small", t.inFlight, t.pauseMs, t.uploadBytes, t.warmUpBytes)
	}
	return nil
}

// expected is how many bytes a session of mode upload has, by its number; 0: without end.
func (t *numberedTraffic) expected(session int) int64 {
	if session == 0 && t.warmUpBytes > 0 {
		return t.warmUpBytes
	}
	return t.uploadBytes
}

// A numberedPeer is one side of the transfer of numbered bytes.
type numberedPeer struct {
	settings *kcpgo.Settings
	mode     string
	traffic  *numberedTraffic
	game     *gameTraffic
	recorder deliveryRecorder
}

// isNumbered is whether a mode is one of these.
func isNumbered(mode string) bool {
	return mode == requestsMode || mode == writesMode || mode == uploadMode
}

// run is a server if it has a local address, otherwise a client.
func (p *numberedPeer) run(local, remote string) error {
	var err error
	if local != "" {
		err = p.serve(local)
	} else {
		err = p.start(remote)
	}
	if err != nil {
		return err
	}
	return answerMarks(p.recorder.take)
}

// serve starts to answer all sessions.
func (p *numberedPeer) serve(address string) error {
	listener, err := p.settings.Listen(address)
	if err != nil {
		return err
	}
	go p.accept(listener)
	return nil
}

func (p *numberedPeer) accept(listener *kcp.Listener) {
	for {
		session, err := p.settings.Accept(listener)
		if err != nil {
			fail(err)
		}
		go p.answer(session)
	}
}

func (p *numberedPeer) answer(session *kcp.UDPSession) {
	log, number := p.recorder.begin()
	expected := p.traffic.expected(number)
	log.ended(p.receive(session, log, func(chunk []byte, received int64) error {
		var err error
		if p.mode != uploadMode {
			_, err = session.Write(chunk)
		} else if received == expected {
			_, err = session.Write(numberedBytes(0, answerBytes))
		}
		return err
	}))
}

// receive logs what arrives until the session ends, and passes it on.
func (p *numberedPeer) receive(
	session io.Reader, log *sessionRecorder, then func(chunk []byte, received int64) error,
) error {
	chunk := make([]byte, chunkBytes)
	for {
		n, err := session.Read(chunk)
		if err != nil {
			return err
		}
		if err := then(chunk[:n], log.received(chunk[:n], time.Now())); err != nil {
			return err
		}
	}
}

// start starts to send to a server.
func (p *numberedPeer) start(remote string) error {
	switch {
	case p.mode == requestsMode:
		return p.dial(remote, p.request)
	case p.mode == writesMode:
		return p.dial(remote, p.write)
	case p.traffic.warmUpBytes > 0:
		begin := func() error { return p.dial(remote, p.upload(p.traffic.uploadBytes, nothing)) }
		return p.dial(remote, p.upload(p.traffic.warmUpBytes, begin))
	}
	return p.dial(remote, p.upload(p.traffic.uploadBytes, nothing))
}

func nothing() error { return nil }

// dial opens a session, which ends when the function returns.
func (p *numberedPeer) dial(
	remote string, use func(*kcp.UDPSession, *sessionRecorder) error,
) error {
	log, _ := p.recorder.begin()
	session, err := p.settings.Dial(remote)
	if err != nil {
		return err
	}
	go func() { log.ended(use(session, log)) }()
	return nil
}

// upload returns a function that sends numbered bytes, and calls answered when the server has all.
func (p *numberedPeer) upload(
	total int64, answered func() error,
) func(*kcp.UDPSession, *sessionRecorder) error {
	return func(session *kcp.UDPSession, log *sessionRecorder) error {
		go func() {
			if err := send(session, total); err != nil {
				log.ended(err)
			}
		}()
		return p.receive(session, log, func(_ []byte, received int64) error {
			if received != answerBytes {
				return nil
			}
			return answered()
		})
	}
}

// send sends numbered bytes; 0: without end.
func send(session io.Writer, total int64) error {
	for sent := int64(0); total == 0 || sent < total; {
		count := int64(chunkBytes)
		if total > 0 {
			count = min(count, total-sent)
		}
		if _, err := session.Write(numberedBytes(sent, int(count))); err != nil {
			return err
		}
		sent += count
	}
	return nil
}

// request sends the next message when one is answered.
func (p *numberedPeer) request(session *kcp.UDPSession, log *sessionRecorder) error {
	free := make(chan struct{}, p.traffic.inFlight)
	sentAt := make(chan time.Time, p.traffic.inFlight)
	for range p.traffic.inFlight {
		free <- struct{}{}
	}
	go func() {
		for number := int64(0); ; number++ {
			<-free
			time.Sleep(time.Duration(p.traffic.pauseMs) * time.Millisecond)
			sentAt <- time.Now()
			if err := p.sendMessage(session, number); err != nil {
				log.ended(err)
				return
			}
		}
	}()
	return p.readMessages(session, log, func(int64) {
		p.recorder.roundTrips.add(time.Since(<-sentAt))
		free <- struct{}{}
	})
}

// write sends a message at the beginning of each tick of a game, however late the last one left.
func (p *numberedPeer) write(session *kcp.UDPSession, log *sessionRecorder) error {
	start := time.Now()
	due := func(number int64) time.Time { return start.Add(p.game.dueAt(uint64(number))) }
	go func() {
		for number := int64(0); ; number++ {
			time.Sleep(time.Until(due(number)))
			if err := p.sendMessage(session, number); err != nil {
				log.ended(err)
				return
			}
		}
	}()
	return p.readMessages(session, log, func(number int64) {
		p.recorder.roundTrips.add(time.Since(due(number)))
	})
}

func (p *numberedPeer) sendMessage(session io.Writer, number int64) error {
	size := p.game.messageBytes
	_, err := session.Write(numberedBytes(number*int64(size), size))
	return err
}

// readMessages calls answered for each message whose echo is complete.
func (p *numberedPeer) readMessages(
	session io.Reader, log *sessionRecorder, answered func(number int64),
) error {
	number := int64(0)
	return p.receive(session, log, func(_ []byte, received int64) error {
		for ; number < received/int64(p.game.messageBytes); number++ {
			answered(number)
		}
		return nil
	})
}
