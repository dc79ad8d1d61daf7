package link

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	deviceName  = "link0"
	deviceBytes = 1500 // MTU
)

// The hosts at both ends of a TUN link, in a network for documentation (RFC 5737).
var (
	tunClient  = netip.AddrFrom4([4]byte{192, 0, 2, 1})
	tunServer  = netip.AddrFrom4([4]byte{192, 0, 2, 2})
	tunNetmask = []byte{255, 255, 255, 0}
)

// NewTUN returns a link for all protocols over IPv4. Client and server have a network namespace
// each, with a TUN device as the only way out. The namespaces have no names: they end with the
// link, or with the process if that ends first. NewTUN needs root.
func NewTUN(up, down Config) (*Link, error) {
	l := newLink(up, down, 0)
	l.connect = func(server netip.AddrPort) (netip.AddrPort, error) { return server, nil }
	client, err := newNamespace(tunClient)
	if err != nil {
		l.resume()
		return nil, err
	}
	server, err := newNamespace(tunServer)
	if err != nil {
		client.close()
		unix.Close(client.device)
		l.resume()
		return nil, err
	}
	l.client, l.server = client, server
	l.descriptors = []int{client.device, server.device}
	l.start(client.device, server.device)
	return l, nil
}

// A namespace is a network namespace, and the thread that belongs to it.
type namespace struct {
	local  netip.Addr
	device int
	calls  chan func()
}

func newNamespace(local netip.Addr) (*namespace, error) {
	n := &namespace{local: local, calls: make(chan func())}
	go n.serve()
	err := n.do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("new network namespace: %w", err)
		}
		return n.open()
	})
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// serve makes the calls on one thread.
func (n *namespace) serve() {
	runtime.LockOSThread()
	usualTimerSlack()
	for call := range n.calls {
		call()
	}
}

func (n *namespace) do(f func() error) error {
	result := make(chan error)
	n.calls <- func() { result <- f() }
	return <-result
}

func (n *namespace) address() netip.Addr { return n.local }

func (n *namespace) close() { close(n.calls) }

// open creates the TUN device, and brings it and loopback up.
func (n *namespace) open() error {
	if err := disableIPv6(); err != nil {
		return err
	}
	device, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w", err)
	}
	if err := n.configure(device); err != nil {
		unix.Close(device)
		return fmt.Errorf("TUN device: %w", err)
	}
	n.device = device
	return nil
}

// disableIPv6 keeps devices from sending packets that no process has written.
func disableIPv6() error {
	err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func (n *namespace) configure(device int) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		return err
	}
	return n.configureTUN(socket, device)
}

func (n *namespace) configureTUN(socket, device int) error {
	request, err := unix.NewIfreq(deviceName)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(device, unix.TUNSETIFF, request); err != nil {
		return err
	}
	local := n.local.As4()
	if err := request.SetInet4Addr(local[:]); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFADDR, request); err != nil {
		return err
	}
	if err := request.SetInet4Addr(tunNetmask); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFNETMASK, request); err != nil {
		return err
	}
	request.SetUint32(deviceBytes)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFMTU, request); err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}
