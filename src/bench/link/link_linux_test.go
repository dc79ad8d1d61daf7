package link

import (
	"encoding/binary"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestARelayCarriesDatagramsBothWays(t *testing.T) {
	testEcho(t, NewRelay(Config{Delay: delay}, Config{Delay: delay}), ipUDPHeaderBytes)
}

func TestATUNCarriesDatagramsBothWays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	l, err := NewTUN(Config{Delay: delay}, Config{Delay: delay})
	if err != nil {
		t.Skip(err)
	}
	testEcho(t, l, ipUDPHeaderBytes)
}

const (
	delay     = 2 * time.Millisecond
	datagrams = 100
)

// testEcho expects the datagrams in order, not before the delay, and counted.
func testEcho(t *testing.T, l *Link, headerBytes int64) {
	defer l.Close()
	server, client, err := l.probeSockets(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(server)
	defer unix.Close(client)
	go echo(server)

	start := time.Now()
	datagram := make([]byte, 100)
	for i := range uint64(datagrams) {
		binary.BigEndian.PutUint64(datagram, i)
		if _, err := unix.Write(client, datagram); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(datagrams) {
		if _, err := unix.Read(client, datagram); err != nil {
			t.Fatal(err)
		}
		if number := binary.BigEndian.Uint64(datagram); number != i {
			t.Fatalf("datagram %d in place of %d", number, i)
		}
	}
	if elapsed := time.Since(start); elapsed < 2*delay {
		t.Errorf("round trip of %v", elapsed)
	}
	expected := Counts{Packets: datagrams, Bytes: datagrams * (100 + headerBytes)}
	if s := l.Snapshot(); s.Up != expected || s.Down != expected {
		t.Errorf("up %+v, down %+v", s.Up, s.Down)
	}
}

// echo answers until its socket is closed.
func echo(socket int) {
	datagram := make([]byte, maxPacketBytes)
	for {
		n, source, err := unix.Recvfrom(socket, datagram, 0)
		if err != nil {
			return
		}
		unix.Sendto(socket, datagram[:n], 0, source)
	}
}

func TestALinkThatLosesEverythingDeliversNothing(t *testing.T) {
	l := NewRelay(Config{Loss: 1}, Config{})
	defer l.Close()
	server, client, err := l.probeSockets(50 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(server)
	defer unix.Close(client)
	for range datagrams {
		unix.Write(client, make([]byte, 100))
	}
	if _, _, err := unix.Recvfrom(server, make([]byte, 100), 0); err != unix.EAGAIN {
		t.Errorf("received: %v", err)
	}
	if s := l.Snapshot(); s.Up.Lost != datagrams {
		t.Errorf("lost %d", s.Up.Lost)
	}
}

func TestAnOutageOfOneDirectionLeavesTheOther(t *testing.T) {
	for _, c := range []struct {
		direction Direction
		up, down  int64 // lost
	}{
		{Up, datagrams, 0}, {Down, 0, datagrams}, {BothWays, datagrams, 0},
	} {
		l := NewRelay(Config{}, Config{})
		server, client, err := l.probeSockets(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		go echo(server)
		l.SetOutage(c.direction, time.Now(), time.Now().Add(time.Hour))
		for range datagrams {
			unix.Write(client, make([]byte, 100))
		}
		awaitLost(t, l, c.up, c.down)
		now := time.Now()
		l.SetOutage(BothWays, now, now)
		unix.Write(client, make([]byte, 100))
		if _, err := unix.Read(client, make([]byte, 100)); err != nil {
			t.Errorf("after the outage: %v", err)
		}
		unix.Close(client)
		unix.Close(server)
		l.Close()
	}
}

func awaitLost(t *testing.T, l *Link, up, down int64) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		s := l.Snapshot()
		if s.Up.Lost == up && s.Down.Lost == down {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("lost %d up, %d down", s.Up.Lost, s.Down.Lost)
		}
	}
}

func TestClosingALinkThatHasNoClientReturns(t *testing.T) {
	l := NewRelay(Config{}, Config{})
	if _, err := l.Connect(netip.MustParseAddrPort("127.0.0.1:9")); err != nil {
		t.Fatal(err)
	}
	l.Close()
}
