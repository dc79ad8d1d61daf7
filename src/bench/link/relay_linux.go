package link

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// ipUDPHeaderBytes is what IPv4 and UDP add to a datagram.
const ipUDPHeaderBytes = 28

// NewRelay returns a link for UDP between two processes on loopback: the client sends to the relay,
// which forwards to the server. It needs no privilege.
func NewRelay(up, down Config) *Link {
	l := newLink(up, down, ipUDPHeaderBytes)
	l.client, l.server = loopback{}, loopback{}
	l.connect = l.relayTo
	return l
}

type loopback struct{}

func (loopback) do(f func() error) error {
	return f()
}

func (loopback) address() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }
func (loopback) close()              {}

func (l *Link) relayTo(server netip.AddrPort) (netip.AddrPort, error) {
	toClient, err := l.socket()
	if err != nil {
		return netip.AddrPort{}, err
	}
	toServer, err := l.socket()
	if err != nil {
		return netip.AddrPort{}, err
	}
	if err := unix.Connect(toServer, sockaddr(server)); err != nil {
		return netip.AddrPort{}, err
	}
	local, err := unix.Getsockname(toClient)
	if err != nil {
		return netip.AddrPort{}, err
	}
	l.threads.Add(1)
	go func() {
		defer l.threads.Done()
		if l.awaitClient(toClient) {
			l.start(toClient, toServer)
		}
	}()
	port := local.(*unix.SockaddrInet4).Port
	return netip.AddrPortFrom(l.server.address(), uint16(port)), nil
}

// awaitClient connects the socket to the source of its first datagram, which stays to be read. It
// returns false if the link was closed.
func (l *Link) awaitClient(socket int) bool {
	poll := []unix.PollFd{{Fd: int32(socket), Events: unix.POLLIN}}
	for !l.stopped.Load() {
		unix.Poll(poll, int(maxSleep.Milliseconds()))
		_, client, err := unix.Recvfrom(socket, nil, unix.MSG_PEEK)
		if err == nil && unix.Connect(socket, client) == nil {
			return true
		}
	}
	return false
}

// socket returns a UDP socket on a port of loopback, which is closed with the link.
func (l *Link) socket() (int, error) {
	const bufferBytes = 4 << 20
	kind := unix.SOCK_DGRAM | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC
	socket, err := unix.Socket(unix.AF_INET, kind, 0)
	if err != nil {
		return 0, err
	}
	l.descriptors = append(l.descriptors, socket)
	unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, bufferBytes)
	unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_SNDBUF, bufferBytes)
	return socket, unix.Bind(socket, sockaddr(netip.AddrPortFrom(l.server.address(), 0)))
}

func sockaddr(address netip.AddrPort) *unix.SockaddrInet4 {
	return &unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}
}
